"""The script to run is not there

## What

`script` names no file, neither beside the recipe nor in the folder the command runs in.

## Why

Every rank would fail at once.

## Example

    script: trian.py

## How to fix

Correct the path. A relative one is looked for beside the recipe first.

## When to ignore

Never.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "script-not-found"
SEVERITY = "error"
STAGE = "command"


def word(problem: Problem) -> Found:
    return Found(message=f"`script: {literal(problem.detail.get('script'))}` is no file", key="script")
