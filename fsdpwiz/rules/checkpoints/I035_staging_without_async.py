"""A staging buffer that nothing uses

## What

`checkpoint.staging_gb` is set, and checkpoints are not written asynchronously.

## Why

The buffer takes copies of shards that are not yet written when the optimizer steps. A checkpoint that keeps
training waiting until it is written needs none, so the key has no effect.

## Example

    checkpoint: {mode: sync, staging_gb: 8}

## How to fix

Remove the key, or set `checkpoint.mode: async` where it exists.

## When to ignore

When the recipe is also run where checkpoints are asynchronous.

## References

`docs/concepts/checkpoints.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "staging-without-async"
SEVERITY = "warning"

_KEY = "checkpoint.staging_gb"
_FIX = Fix(title=f"remove `{_KEY}`", edits={_KEY: None}, safety="safe")


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    if recipe.value(_KEY) is not None and plan.checkpoint.mode != "async":
        yield Found(
            message=f"`{_KEY}` has no effect: checkpoints are written while training waits, from no copy",
            key=_KEY,
            fixes=(_FIX,),
        )
