"""Resuming with another model, method or adapter

## What

The model, the method, `peft` or `quantization` differ from those of the checkpoint.

## Why

A checkpoint is bound to what was trained and to how it was laid out; upstream would fail in the ranks, or
go on with wrong values.

## Example

    fsdpwiz run --resume last peft.r=32

## How to fix

Set the key back to what the checkpoint was saved with, or start a new run. `fsdpwiz export RUN` makes a
model of the checkpoint, which a new run can begin from.

## When to ignore

Never.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.run.differs import differs

NAME = "resume-with-another-model"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return differs(problem, f"`{problem.key}`")
