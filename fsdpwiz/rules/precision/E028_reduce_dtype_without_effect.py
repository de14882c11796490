"""A reduce dtype that nothing obeys

## What

The run is DDP or one process, and `reduce_dtype` is not the type that gradients are held in.

## Why

DDP sums gradients in the type they are held in; one process sums none. Only FSDP has a type of its own for
the sum.

## Example

    fsdp: null
    mixed_precision: "no"
    model: {dtype: bfloat16}
    reduce_dtype: float32

## How to fix

Remove the key, or shard with FSDP.

## When to ignore

Never: the setting has no effect.

## References

torch, `MixedPrecisionPolicy.reduce_dtype`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "reduce-dtype-without-effect"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "warning"

_KEY = "reduce_dtype"


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    kind = plan.world.distributed_type
    if recipe.value(_KEY) in (None, plan.model.trainable_dtype) or kind in ("FSDP1", "FSDP2"):
        return
    one_process = kind == "NO"
    how = (
        "one process sums no gradients" if one_process else "DDP sums gradients in the type they are held in"
    )
    yield Found(
        message=f"`{_KEY}: {recipe.value(_KEY)}` has no effect: {how}",
        key=_KEY,
        severity="info" if one_process else None,
        fixes=(Fix(title=f"remove `{_KEY}`", edits={_KEY: None}, safety="safe"),),
    )
