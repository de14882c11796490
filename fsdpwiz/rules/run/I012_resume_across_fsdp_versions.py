"""Resuming under another FSDP version

## What

The run to resume was under one version of FSDP and would go on under the other.

## Why

A checkpoint is bound to what was trained and to how it was laid out; upstream would fail in the ranks, or
go on with wrong values.

## Example

    fsdpwiz run --resume last fsdp.version=1

## How to fix

Set the key back to what the checkpoint was saved with, or start a new run. `fsdpwiz export RUN` makes a
model of the checkpoint, which a new run can begin from.

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
