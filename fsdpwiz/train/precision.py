"""The plan's dtypes, brought to bear where upstream has another default."""

from __future__ import annotations

import dataclasses
from typing import Any

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding
from fsdpwiz.plan.types import Plan


def cast_trainable(model: Any, dtype_name: str) -> None:
    """Hold every trainable parameter in `dtype_name`.

    PEFT makes adapters float32 whatever the base is, and again whenever it loads them.
    """
    import torch

    dtype = getattr(torch, dtype_name)
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.dtype != dtype:
            parameter.data = parameter.data.to(dtype)


def undo_upcast(model: Any, plan: Plan) -> None:
    """Hold adapters over a quantised base as planned under FSDP1 too, until the first forward.

    Accelerate makes every trainable flat parameter float32 when it has wrapped the model, which
    it does under FSDP2 only where nothing is quantised.
    """
    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel

    if plan.world.distributed_type != "FSDP1" or plan.precision != "quantised":
        return
    dtype = getattr(torch, plan.model.trainable_dtype)
    for unit in FullyShardedDataParallel.fsdp_modules(model):
        if unit._has_params and unit._flat_param.requires_grad:
            unit._flat_param.data = unit._flat_param.data.to(dtype)
            unit._handle._orig_param_dtype = dtype


def trainable_dtypes(model: Any) -> set[str]:
    """The dtypes that trainable parameters are held in, e.g. {"float32"}.

    FSDP1 holds them in flat parameters, of which the model's own are views.
    """
    from torch.distributed.fsdp import FullyShardedDataParallel

    units = [unit for unit in FullyShardedDataParallel.fsdp_modules(model) if unit._has_params]
    held = [unit._flat_param for unit in units] if units else model.parameters()
    return {str(parameter.dtype).removeprefix("torch.") for parameter in held if parameter.requires_grad}


def set_policy(trainer: Any, plan: Plan) -> None:
    """Sum gradients in the plan's `reduce_dtype`, and let FSDP2's outputs keep their precision.

    Accelerate builds FSDP's policy from `mixed_precision` alone: no key of its YAML reaches the
    dtype of the reduction, and FSDP2's root rounds what the model returns, the log-probabilities
    of the loss among it, to 8 bits. Outside FSDP gradients are summed in the dtype they are held
    in: raises FsdpwizError where the plan has another one.
    """
    if plan.world.distributed_type in ("FSDP1", "FSDP2"):
        plugin = getattr(trainer.accelerator.state, "fsdp_plugin", None)
        if plugin is not None:  # else the world is not the planned one, which is for its check to say
            plugin.mixed_precision_policy = _policy(plugin, plan)
    elif plan.world.world_size > 1 and plan.reduce_dtype not in (None, plan.model.trainable_dtype):
        raise FsdpwizError(_cannot_obey(plan))


def _policy(plugin: Any, plan: Plan) -> Any:
    import torch

    policy = plugin.mixed_precision_policy
    changes: dict[str, Any] = {}
    if plan.reduce_dtype is not None:
        changes["reduce_dtype"] = getattr(torch, plan.reduce_dtype)
    if plugin.fsdp_version == 2 and policy is not None:
        changes["output_dtype"] = None
    return dataclasses.replace(policy or _empty_policy(plugin.fsdp_version), **changes) if changes else policy


def _empty_policy(fsdp_version: int) -> Any:
    if fsdp_version == 2:
        from torch.distributed.fsdp import MixedPrecisionPolicy

        return MixedPrecisionPolicy()
    from torch.distributed.fsdp import MixedPrecision

    return MixedPrecision()


def _cannot_obey(plan: Plan) -> Finding:
    return Finding(
        code="E028",
        name="reduce-dtype-without-effect",
        severity="error",
        key="reduce_dtype",
        message=(
            f"`reduce_dtype: {plan.reduce_dtype}` has no effect under DDP: gradients are summed in the dtype "
            f"they are held in, here {plan.model.trainable_dtype}; use `fsdp`, or leave `reduce_dtype` out"
        ),
    )
