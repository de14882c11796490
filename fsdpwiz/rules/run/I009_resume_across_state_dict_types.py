"""Resuming with another state-dict type

## What

The run to resume saved its checkpoints with another `fsdp.state_dict_type`.

## Why

A checkpoint is bound to what was trained and to how it was laid out; upstream would fail in the ranks, or
go on with wrong values.

## Example

    fsdpwiz run --resume last fsdp.state_dict_type=FULL_STATE_DICT

## How to fix

Set the key back to what the checkpoint was saved with, or start a new run. `fsdpwiz export RUN` makes a
model of the checkpoint, which a new run can begin from.

## When to ignore

Never.

## References

axolotl#3609
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.run.differs import differs

NAME = "resume-across-state-dict-types"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return differs(problem, "state-dict type")
