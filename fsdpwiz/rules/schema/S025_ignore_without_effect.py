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
from fsdpwiz.rules.catalogue import modules, rule
from fsdpwiz.rules.rule import Found

NAME = "ignore-without-effect"
SEVERITY = "warning"


def check(recipe: Recipe) -> Iterator[Found]:
    given = recipe.value("ignore")
    for code in given if isinstance(given, Mapping) else ():
        if reason := _why_without_effect(str(code)):
            key = f"ignore.{code}"
            fix = Fix(title=f"remove `{key}`", edits={key: None}, safety="safe")
            yield Found(message=f"`{key}` has no effect: {reason}", key=key, fixes=(fix,))


def _why_without_effect(code: str) -> str | None:
    meant = [known for known in modules() if code and known.startswith(code)]
    if not meant:
        return "no rule has this code"
    if all(known.startswith("S") and rule(known).severity == "error" for known in meant):
        return "an error in the recipe itself cannot be ignored"
    return None
