"""Rank 0 wrote the model alone

## What

The exported model was not written by all ranks, each its own rows, but gathered by rank 0, one tensor at a
time.

## Why

Writing together needs a folder that every node shares, on a file system that takes one file from several
processes. Where that is not so the model is just as right, and takes longer.

## Example

    output_dir: /tmp/runs        # a local disk on each of two nodes

## How to fix

Let `output_dir` lie on a file system that all nodes share.

## When to ignore

Always, if the time does not matter.

## References

`docs/concepts/checkpoints.md`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "export-gathered"
SEVERITY = "info"
STAGE = "training"


def word(problem: Problem) -> Found:
    reason = problem.detail.get("reason", "it is not known why")
    return Found(
        message=f"Rank 0 gathered the model's weights and wrote them alone: {reason}", key="output_dir"
    )
