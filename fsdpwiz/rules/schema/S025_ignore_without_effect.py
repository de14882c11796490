"""An entry of `ignore` without effect

## What

A code or prefix in `ignore` that no rule has, or that cannot be ignored: errors of the recipe's own form (S
codes).

## Why

Whoever wrote it believes that a finding is silenced.

## Example

    ignore:
      Z999: we know

## How to fix

Remove the entry or mend its code; `fsdpwiz explain CODE` opens the page of any code.

## When to ignore

Never needed: remove the entry.

## References

None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsdpwiz.core.findings import Fix
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.catalogue import modules
from fsdpwiz.rules.rule import Found

NAME = "ignore-without-effect"
SEVERITY = "warning"


def check(recipe: Recipe) -> Iterator[Found]:
    given = recipe.value("ignore")
    for code in given if isinstance(given, Mapping) else ():
        if not code or not any(known.startswith(str(code)) for known in modules()):
            key = f"ignore.{code}"
            fix = Fix(title=f"remove `{key}`", edits={key: None}, safety="safe")
            yield Found(message=f"`{key}` has no effect: no rule has this code", key=key, fixes=(fix,))
