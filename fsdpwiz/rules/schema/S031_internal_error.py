"""An error in fsdpwiz itself

## What

fsdpwiz met a case that it does not foresee.

## Why

The command stopped; nothing was judged.

## Example

    KeyError: 'mesh'

## How to fix

Repeat the command with `--debug` and report the traceback together with the recipe.

## When to ignore

Never.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "internal-error"
SEVERITY = "error"
STAGE = "command"
EXIT = 2


def word(problem: Problem) -> Found:
    kind, message = problem.detail.get("type") or "an error", problem.detail.get("message")
    what = f"{kind}: {message}" if message else str(kind)
    return Found(message=f"fsdpwiz itself failed, {what}; `--debug` shows the traceback")
