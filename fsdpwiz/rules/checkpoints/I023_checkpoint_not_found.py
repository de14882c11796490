"""A checkpoint that is not there

## What

The checkpoint to resume from is no folder.

## Why

A run that began anew instead would throw the former steps away, silently.

## Example

    fsdpwiz run --resume runs/a/20260101-120000

## How to fix

Check the path. `fsdpwiz runs` shows which checkpoints a run has.

## When to ignore

Never: the run has stopped before it trained.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "checkpoint-not-found"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return Found(message=f"`{problem.detail.get('path') or problem.key}` is no checkpoint folder")
