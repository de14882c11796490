"""DDP instead of FSDP

## What

`fsdp` is null, also when the section is only left empty.

## Why

Several ranks then train by DDP, each with a whole copy of weights, gradients and optimizer state; one
process trains plainly. An empty `fsdp:` line asks for that as much as a written null, which is easily
overlooked.

## Example

    fsdp:

## How to fix

Nothing is wrong if DDP is meant. For FSDP2 with its defaults remove the line, or write `fsdp: {version:
2}`.

## When to ignore

When DDP is meant.

## References

None.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "ddp-instead-of-fsdp"
SEVERITY = "info"


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    if not recipe.has("fsdp") or recipe.value("fsdp") is not None:
        return
    ranks = plan.world.world_size
    how = (
        "one process trains plainly"
        if ranks == 1
        else f"{ranks} ranks train by DDP, each with the whole model"
    )
    fix = Fix(title="shard with FSDP2", edits={"fsdp.version": 2}, safety="manual")
    yield Found(message=f"`fsdp` is null: {how}", key="fsdp", fixes=(fix,))
