"""Which number formats a prepared model, its optimizer and its reduction really have, as dtype names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Parameters that are held, computed and reduced together, and the dtypes that a policy gives them."""

    trainable: frozenset[torch.dtype]
    frozen: frozenset[torch.dtype]
    compute: torch.dtype | None = None
    reduce: torch.dtype | None = None
    reduces: bool = True


def units(model: Any) -> list[Unit]:
    """The units of FSDP with their policies, as torch 2.13 holds them; else the whole model as one.

    FSDP1 holds its parameters in flat ones, of which the model's own are views.
    """
    from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel

    flat = [unit for unit in FullyShardedDataParallel.fsdp_modules(model) if unit._has_params]
    if flat:
        return [_flat_unit(unit) for unit in flat]
    groups = [
        group
        for module in model.modules()
        if isinstance(module, FSDPModule)
        for group in module._get_fsdp_state()._fsdp_param_groups
    ]
    if groups:
        return [_sharded_unit(group) for group in groups]
    reduces = isinstance(model, torch.nn.parallel.DistributedDataParallel)
    return [_unit(model.parameters(), reduces=reduces)]


def computed(held: Iterable[Unit], mixed_precision: str) -> list[str]:
    """The dtypes that trainable units are computed in; `mixed_precision` is Accelerate's."""
    found: set[torch.dtype] = set()
    for unit in held:
        dtype = unit.compute or AUTOCAST.get(mixed_precision)
        if unit.trainable:
            found |= unit.trainable if dtype is None else {dtype}
    return names(found)


def reduced(held: Iterable[Unit]) -> list[str]:
    """The dtypes that gradients are summed in over ranks: the policy's, else that of the computation."""
    found: set[torch.dtype] = set()
    for unit in held:
        if unit.trainable and unit.reduces:
            dtype = unit.reduce or unit.compute
            found |= unit.trainable if dtype is None else {dtype}
    return names(found)


def gradients(optimizer: Any) -> list[str]:
    """The dtypes of the gradients that the optimizer is about to use."""
    return names(
        parameter.grad.dtype
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.grad is not None
    )


def states(optimizer: Any) -> list[str]:
    """The dtypes of the optimizer's states, without its counters."""
    return names(
        value.dtype
        for state in optimizer.state.values()
        for value in state.values()
        if isinstance(value, torch.Tensor) and value.ndim
    )


def names(dtypes: Iterable[torch.dtype]) -> list[str]:
    """As a plan writes them, sorted, each once."""
    return sorted({str(dtype).removeprefix("torch.") for dtype in dtypes})


def _flat_unit(unit: Any) -> Unit:
    policy = unit.mixed_precision
    return _unit([unit._flat_param], compute=policy.param_dtype, reduce=policy.reduce_dtype)


def _sharded_unit(group: Any) -> Unit:
    policy = group.mp_policy
    parameters = (one.sharded_param for one in group.fsdp_params)
    return _unit(parameters, compute=policy.param_dtype, reduce=policy.reduce_dtype)


def _unit(parameters: Iterable[torch.nn.Parameter], **policy: Any) -> Unit:
    held: dict[bool, set[torch.dtype]] = {True: set(), False: set()}
    for parameter in parameters:
        held[parameter.requires_grad].add(parameter.dtype)
    return Unit(trainable=frozenset(held[True]), frozen=frozenset(held[False]), **policy)


def kept_wide(model: Any) -> Iterator[str]:
    """Names of modules that the model's own class keeps in float32 whatever it is loaded in."""
    for module in model.modules():
        for attribute in ("_keep_in_fp32_modules", "_keep_in_fp32_modules_strict"):
            yield from getattr(module, attribute, None) or ()
