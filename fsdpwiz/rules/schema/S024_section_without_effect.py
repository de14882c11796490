"""A section that this launcher does not read

## What

The recipe has a `slurm` section but its launcher is `local`.

## Why

Nothing of the section has an effect. A site file's `slurm` section is not meant: it waits for the recipes
that use it.

## Example

    launcher: local
    slurm:
      options: {partition: gpu}

## How to fix

Set `launcher: slurm`, or remove the section.

## When to ignore

When the section is kept for later.

## References

None.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "section-without-effect"
SEVERITY = "info"


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    origin = recipe.origins.get("slurm")
    if origin and origin.source != "site" and recipe.value("slurm") and plan.launcher == "local":
        yield Found(message="`slurm` has no effect with `launcher: local`", key="slurm")
