"""A checkpoint could not be written

## What

A checkpoint was not completed: the disk was full, a file could not be written, or another rank failed at
it. Training went on, and every complete checkpoint before it is untouched.

## Why

What is trained since the last complete checkpoint is lost if the run dies. A training that stopped for it
would lose it at once.

## Example

    No space left on device

## How to fix

Make room in the run's folder, keep fewer checkpoints by `sft.save_total_limit`, or let `output_dir` lie on a
larger disk. The next checkpoint is tried again by itself.

## When to ignore

When a later checkpoint was written.

## References

`docs/concepts/checkpoints.md`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "checkpoint-not-written"
SEVERITY = "warning"
STAGE = "training"


def word(problem: Problem) -> Found:
    step, reason = problem.detail.get("step", "?"), problem.detail.get("reason", "it is not known why")
    return Found(message=f"The checkpoint of step {step} was not written: {reason}", key="checkpoint.mode")
