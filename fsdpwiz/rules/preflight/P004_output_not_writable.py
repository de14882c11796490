"""The output folder cannot be written

## What

`output_dir`, or the nearest parent that exists, is not writable by the user who runs the command.

## Why

The run folder could not be made; nothing would be left of the run.

## Example

    output_dir: /runs

## How to fix

Set `output_dir` to a folder you may write, or have its owner open it.

## When to ignore

Never for `run`.

## References

None.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Disk
from fsdpwiz.rules.rule import Found

NAME = "output-not-writable"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "warning"


def word(problem: Problem) -> Found:
    reason = problem.detail.get("reason")
    path = problem.detail.get("path", "output_dir")
    return Found(message=f"`{path}` cannot be written" + (f": {reason}" if reason else ""), key="output_dir")


def check(disk: Disk) -> Iterator[Found]:
    if not disk.writable:
        why = f" ({disk.problem})" if disk.problem else ""
        message = f"`{disk.path}` cannot be written{why}; set `output_dir` to a folder of yours"
        yield Found(message=message, key="output_dir")
