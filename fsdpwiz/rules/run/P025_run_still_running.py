"""The run to resume is still running

## What

`run --resume RUN` names a run whose launcher is alive.

## Why

Two attempts at once would write the same checkpoints.

## Example

    `runs/x/20260101-120000` is running: process 4711 on `node1`

## How to fix

Wait for it, or end it: SIGINT to that process stops the whole run.

## When to ignore

Never.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "run-still-running"
SEVERITY = "error"
STAGE = "command"


def word(problem: Problem) -> Found:
    detail = problem.detail
    where = f": process {detail.get('pid')} on `{literal(detail.get('host'))}`" if detail.get("pid") else ""
    return Found(message=f"`{literal(detail.get('run'))}` is {detail.get('state', 'running')}{where}")
