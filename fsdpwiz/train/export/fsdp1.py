"""What FSDP1 keeps in its flat parameters: which parameters, and which run of each is on this rank.

Read from torch's own records of a flat parameter (`torch/distributed/fsdp/_flat_param.py`), because a
state dict is no way to it on CPU: FULL_STATE_DICT with offload hands out freed memory there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FlatParameter, FullyShardedDataParallel


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A parameter inside a flat parameter; shared ones (tied weights) have the same `identity`."""

    module: nn.Module
    attribute: str
    shape: tuple[int, ...]
    trainable: bool
    identity: int


def units(root: nn.Module) -> Iterator[FullyShardedDataParallel]:
    """The FSDP1 units that hold parameters, outermost first."""
    for module in root.modules():
        if isinstance(module, FullyShardedDataParallel) and module._handle is not None:
            yield module


def is_flat(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, FlatParameter)


def held(unit: FullyShardedDataParallel) -> Iterator[Held]:
    """The parameters of one unit in their order, then the aliases of shared ones."""
    flat = unit._handle.flat_param
    identities: dict[tuple[int, str], tuple[int, tuple[int, ...]]] = {}
    trainable = _trainable(flat)
    for index, (info, shape) in enumerate(zip(flat._param_infos, flat._shapes, strict=True)):
        identity = hash((id(flat), index))
        identities[id(info.module), info.param_name] = (identity, tuple(shape))
        yield Held(
            module=info.module,
            attribute=info.param_name,
            shape=tuple(shape),
            trainable=trainable[index],
            identity=identity,
        )
    for shared in flat._shared_param_infos:
        identity, shape = identities[id(shared.prim_module), shared.prim_param_name]
        yield Held(
            module=shared.module,
            attribute=shared.param_name,
            shape=shape,
            trainable=flat.requires_grad,
            identity=identity,
        )


def managed(all_units: tuple[FullyShardedDataParallel, ...]) -> frozenset[tuple[int, str]]:
    """(module id, attribute) of everything that some unit holds."""
    return frozenset((id(item.module), item.attribute) for unit in all_units for item in held(unit))


def local_runs(unit: FullyShardedDataParallel) -> dict[tuple[int, str], tuple[int, torch.Tensor]]:
    """This rank's elements of each parameter of a sharded unit: where they begin, and their values.

    Nothing for a parameter of which this rank has no element, and nothing where the unit is not sharded.
    """
    handle = unit._handle
    if not handle.uses_sharded_strategy:
        return {}
    flat, runs = handle.flat_param, {}
    shard = flat._local_shard.detach()
    for info, part in zip(flat._param_infos, flat._shard_param_infos, strict=True):
        if part.in_shard:
            values = shard[part.offset_in_shard : part.offset_in_shard + part.numel_in_shard]
            runs[id(info.module), info.param_name] = (part.intra_param_start_idx, values)
    return runs


def is_first_copy(unit: FullyShardedDataParallel) -> bool:
    """Whether this rank is in the first of the groups that hold the same shards: HYBRID has several."""
    group = getattr(unit, "_inter_node_pg", None)
    return group is None or dist.get_rank(group) == 0


def _trainable(flat: Any) -> list[bool]:
    originals = flat._params
    if originals is None:
        return [flat.requires_grad] * len(flat._shapes)
    return [parameter.requires_grad for parameter in originals]
