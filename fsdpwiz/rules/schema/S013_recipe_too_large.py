"""A recipe too large or too deep

## What

A recipe beyond the bound on its bytes, its nesting or what its aliases expand to.

## Why

A recipe is a page of text. What is a thousand times larger is another file, or was made to exhaust the
reader.

## Example

    fsdpwiz validate model.safetensors

## How to fix

Check that the path names a recipe. Keep data in files of its own and name them in `data.name_or_path`.

## When to ignore

Never: it was not read.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "recipe-too-large"
SEVERITY = "error"
EXIT = 2


def word(problem: Problem) -> Found:
    limit = problem.detail.get("limit")
    return Found(message="The recipe is too large or too deep" + (f"; the limit is {limit}" if limit else ""))
