"""The optimizer state is lost on resume

## What

A run under FSDP1 with sharded checkpoints is to be resumed (an error), or saves checkpoints that cannot be
(a warning).

## Why

Accelerate asks a fresh optimizer for the template of its state, gets an empty one, and loads nothing,
without an error: the weights go on, Adam's moments begin at zero, and the losses leave the track. Measured
on CPU; the code has no condition on the device.

## Example

    fsdp: {version: 1, state_dict_type: SHARDED_STATE_DICT}

## How to fix

Use FSDP2, whose resume is exact, also on another number of ranks. Under FSDP1 on GPUs `FULL_STATE_DICT`
resumes.

## When to ignore

The warning: when the run is short enough never to be resumed.

## References

accelerate, `utils/fsdp_utils.py`: `load_fsdp_optimizer`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "fsdp1-sharded-resume-loses-optimizer"
SEVERITY = "error"

_KEY = "fsdp.state_dict_type"


def word(problem: Problem) -> Found:
    run = problem.detail.get("run")
    what = f"`{run}`" if run else "The run"
    return Found(
        message=f"{what} cannot be resumed: under FSDP1 with sharded checkpoints the optimizer state is lost"
    )


def check(plan: Plan) -> Iterator[Found]:
    sharded = (plan.fsdp or {}).get("state_dict_type") == "SHARDED_STATE_DICT"
    if plan.world.distributed_type != "FSDP1" or not sharded:
        return
    if plan.training.get("save_strategy") != "no":
        message = "Sharded checkpoints of FSDP1 cannot be resumed from: the optimizer state is lost"
        fix = Fix(title="use FSDP2", edits={"fsdp.version": 2}, safety="manual")
        yield Found(message=message, key=_KEY, severity="warning", fixes=(fix,))
