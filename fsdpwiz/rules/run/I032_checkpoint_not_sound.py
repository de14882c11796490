"""The checkpoint to go on from is not sound

## What

A file of the checkpoint that a run is to go on from is cut short, missing, or holds what no training writes
into it. Nothing of it was run.

## Why

Part of a checkpoint is Python's pickle, which upstream opens as it comes: whoever can write to the folder
could have the ranks run anything. So it is read first by a reader that admits only what a checkpoint holds.
A save or a copy that did not end is found the same way.

## Example

    fsdpwiz run --resume last    # `.metadata` names `os.system`

## How to fix

Copy the checkpoint again from where it is whole, or remove its folder: the run then goes on from the one
before. Where the file names something foreign, find out who wrote it.

## When to ignore

Never.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "checkpoint-not-sound"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    """`detail` has checkpoint (its name), reason, path, and older: a sound one's name, or None."""
    detail = problem.detail
    older = detail.get("older")
    name, reason = literal(detail.get("checkpoint")), detail.get("reason")
    remedy = f"remove its folder to go on from `{literal(older)}`" if older else "start a new run"
    return Found(
        message=f"`{name}` cannot be gone on from: {reason}; {remedy}",
        file=str(detail["path"]) if detail.get("path") else None,
    )
