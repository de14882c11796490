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


def set_reduce_dtype(trainer: Any, plan: Plan) -> None:
    """Sum gradients in the plan's `reduce_dtype`.

    Accelerate builds FSDP's policy from `mixed_precision` alone; no key of its YAML reaches the
    dtype of the reduction. Outside FSDP gradients are summed in the dtype they are held in:
    raises FsdpwizError where that is another one.
    """
    import torch

    if plan.reduce_dtype is None or plan.world.world_size == 1:
        return
    reduce_dtype = getattr(torch, plan.reduce_dtype)
    if plan.world.distributed_type in ("FSDP1", "FSDP2"):
        plugin = trainer.accelerator.state.fsdp_plugin
        policy = plugin.mixed_precision_policy or _empty_policy(plugin.fsdp_version)
        plugin.mixed_precision_policy = dataclasses.replace(policy, reduce_dtype=reduce_dtype)
    elif plan.model.trainable_dtype != plan.reduce_dtype:
        raise FsdpwizError(_cannot_obey(plan))


def _empty_policy(fsdp_version: int) -> Any:
    if fsdp_version == 2:
        from torch.distributed.fsdp import MixedPrecisionPolicy

        return MixedPrecisionPolicy()
    from torch.distributed.fsdp import MixedPrecision

    return MixedPrecision()


def _cannot_obey(plan: Plan) -> Finding:
    return Finding(
        code="S006",
        name="key-not-obeyed",
        severity="error",
        key="reduce_dtype",
        message=(
            f"`reduce_dtype: {plan.reduce_dtype}` has no effect under DDP: gradients are summed in the dtype "
            f"they are held in, here {plan.model.trainable_dtype}; use `fsdp`, or leave `reduce_dtype` out"
        ),
    )
