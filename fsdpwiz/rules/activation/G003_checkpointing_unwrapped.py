"""Activation checkpointing without a wrap policy

## What

`fsdp.activation_checkpointing` with `auto_wrap_policy: NO_WRAP`.

## Why

FSDP checkpoints the wrapped blocks. Without a policy FSDP2 fails with "'NoneType' object is not callable",
and FSDP1 wraps every submodule, which recomputes each of them and keeps every activation.

## Example

    fsdp: {activation_checkpointing: true, auto_wrap_policy: NO_WRAP}

## How to fix

Set `auto_wrap_policy: TRANSFORMER_BASED_WRAP`, or leave it out.

## When to ignore

Never.

## References

accelerate, `accelerator.py` and `utils/fsdp_utils.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "checkpointing-unwrapped"
SEVERITY = "error"

_KEY = "fsdp.auto_wrap_policy"


def check(plan: Plan) -> Iterator[Found]:
    fsdp = plan.fsdp or {}
    if plan.world.distributed_type not in ("FSDP1", "FSDP2") or not fsdp.get("activation_checkpointing"):
        return
    if fsdp.get("auto_wrap_policy") == "NO_WRAP":
        fix = Fix(title="wrap the model's blocks", edits={_KEY: "TRANSFORMER_BASED_WRAP"}, safety="safe")
        yield Found(
            message=f"`{_KEY}: NO_WRAP` leaves no block for activation checkpointing", key=_KEY, fixes=(fix,)
        )
