"""Resuming an FSDP checkpoint without FSDP

## What

The run to resume was under FSDP and would go on without it, or the other way round.

## Why

A checkpoint is bound to what was trained and to how it was laid out; upstream would fail in the ranks, or
go on with wrong values.

## Example

    fsdpwiz run --resume last fsdp=null

## How to fix

Set the key back to what the checkpoint was saved with, or start a new run. `fsdpwiz export RUN` makes a
model of the checkpoint, which a new run can begin from.

## When to ignore

Never.

## References

transformers, `Trainer._load_from_checkpoint`
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.run.differs import differs

NAME = "resume-across-fsdp"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return differs(problem, "distributed type")
