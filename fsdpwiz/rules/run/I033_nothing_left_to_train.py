"""The run to resume has ended

## What

The run's latest checkpoint is at the last step that the recipe asks for, and its model is there.

## Why

There is nothing to train: nothing is launched, and the model stays as it is.

## Example

    fsdpwiz run --resume last    # step 1000 of 1000

## How to fix

To train further, ask for more steps: `fsdpwiz run --resume last sft.max_steps=2000`. To export the
checkpoint in another way, use `fsdpwiz export`.

## When to ignore

Where the run was resumed only to be sure that it has ended.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "nothing-left-to-train"
SEVERITY = "info"
STAGE = "training"


def word(problem: Problem) -> Found:
    """`detail` has step, steps (how many the plan asks for) and model (its path)."""
    detail = problem.detail
    return Found(
        message=f"Nothing is left to train: the run is at step {literal(detail.get('step'))} of "
        f"{literal(detail.get('steps'))} and its model is in `{detail.get('model')}`"
    )
