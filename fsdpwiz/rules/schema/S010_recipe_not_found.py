"""No recipe of that name

## What

The argument is neither a file, with or without `.yaml`, nor the name of a shipped recipe.

## Why

Without a recipe there is nothing to judge; the command ends with exit code 2.

## Example

    fsdpwiz run llama3-8b-sfft

## How to fix

`fsdpwiz recipes` lists the shipped recipes. A path is taken relative to the folder the command runs in.

## When to ignore

Never.

## References

`fsdpwiz recipes --help`
"""

from __future__ import annotations

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "recipe-not-found"
SEVERITY = "error"
EXIT = 2


def word(problem: Problem) -> Found:
    """`detail` has reference and nearest; for a run without its recipe, run and path."""
    if "run" in problem.detail:
        run, path = problem.detail["run"], problem.detail.get("path")
        return Found(
            message=f"The run `{run}` lacks its recipe: `{path}` is not there; put it back to resume"
        )
    reference, nearest = problem.detail.get("reference"), problem.detail.get("nearest")
    first = nearest[0] if isinstance(nearest, (list, tuple)) and nearest else nearest
    meant = f"; the nearest is `{literal(first)}`" if first else ""
    return Found(
        message=f"`{literal(reference)}` is neither a file nor a shipped recipe{meant}",
        fixes=(Fix(title="list the shipped recipes", commands=("fsdpwiz recipes",)),),
    )
