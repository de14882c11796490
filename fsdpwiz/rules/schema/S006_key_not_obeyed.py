"""A legal key or value that no part obeys yet

## What

A setting of the recipe's schema whose part is still to be built.

## Why

No key is swallowed: a run that passed over it would train something else than the recipe says. `run`
refuses it; the other verbs warn.

## Example

    checkpoint:
      mode: async

## How to fix

Take the value that the message names, or remove the key: no default is such a value.

## When to ignore

Never for `run`: the setting has no effect.

## References

The changelog says which release obeys it.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.schema.not_obeyed import with_rows
from fsdpwiz.rules.wording import literal

NAME = "key-not-obeyed"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "warning"


def word(problem: Problem) -> Found:
    reason = problem.detail.get("reason")
    value = f": {literal(problem.detail['got'])}" if "got" in problem.detail else ""
    return Found(message=f"`{problem.key}{value}` is not obeyed yet" + (f": {reason}" if reason else ""))


def check(recipe: Recipe) -> Iterator[Found]:
    for row, value in with_rows(recipe.given):
        yield Found(
            message=f"`{row.key}: {literal(value)}` is not obeyed yet: {row.reason}",
            key=row.key,
            fixes=(Fix(title=f"remove `{row.key}`", edits={row.key: None}, safety="unsafe"),),
        )
