"""The script to run is not there

## What

`script` names no file that can be read, neither beside the recipe nor in the folder the command runs in.

## Why

Every rank would fail at once.

## Example

    script: trian.py

## How to fix

Correct the path. A relative one is looked for beside the recipe first.

## When to ignore

With `launcher: slurm`, where the script is on the cluster alone: then it is a warning.

## References

None.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Script
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "script-not-found"
SEVERITY = "error"


def word(problem: Problem) -> Found:
    return Found(message=f"`script: {literal(problem.detail.get('script'))}` is no file", key="script")


def check(recipe: Recipe, script: Script | None) -> Iterator[Found]:
    if script is None or script.problem is None:
        return
    on_cluster = recipe.value("launcher") == "slurm"
    here = " on this machine" if on_cluster else ""
    meant = f"; there is `{script.nearest}`" if script.nearest else ""
    yield Found(
        message=f"`script: {literal(recipe.value('script'))}` cannot be run{here}: {script.problem}{meant}",
        key="script",
        severity="warning" if on_cluster else "error",
    )
