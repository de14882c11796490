"""A resume with another state-dict type

## What

The checkpoint was saved with another `fsdp.state_dict_type` than the recipe has now.

## Why

Full and sharded checkpoints lie on the disk in different files; Accelerate would look for the ones of the
recipe and not find them.

## Example

    fsdp: {state_dict_type: FULL_STATE_DICT}     # the checkpoint is SHARDED_STATE_DICT

## How to fix

Set the key back to what the checkpoint has, or start a new run. `fsdpwiz export` makes a model of either,
which a new run can start from.

## When to ignore

Never: the run has stopped before it trained.

## References

accelerate, `utils/fsdp_utils.py`: `load_fsdp_model`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.checkpoints.differs import differs
from fsdpwiz.rules.rule import Found

NAME = "resume-across-state-dict-types"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return differs(problem, "state-dict type", "fsdp.state_dict_type")
