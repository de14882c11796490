"""Resuming under another FSDP version

## What

The run to resume, or to start from, was under FSDP2 and would go on under FSDP1. The other way is possible.

## Why

FSDP1 keeps its parameters in flat ones, and upstream loads their optimizer state only from what FSDP1 itself
has saved: it would fail in the ranks, or go on with an empty state and say nothing.

## Example

    fsdpwiz run --resume last fsdp.version=1

## How to fix

Stay with `fsdp.version: 2`. Where it must be FSDP1, `fsdpwiz export RUN` makes a model of the checkpoint,
which a new run can begin from, with a new optimizer.

## When to ignore

Never.

## References

accelerate, `utils/fsdp_utils.py`: the optimizer's keys differ
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.run.differs import differs

NAME = "resume-across-fsdp-versions"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return differs(problem, "distributed type")
