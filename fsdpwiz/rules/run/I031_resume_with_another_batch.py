"""Resuming with another global batch

## What

The sequences per optimizer step differ from those of the checkpoint.

## Why

The Trainer counts its place in the data in steps. With another global batch the resumed run skips another
number of rows than it had seen, so some are trained on twice or never, and a step of the learning-rate
schedule no longer means the same number of tokens.

## Example

    fsdpwiz run --resume last cluster.nodes=4

## How to fix

Set `global_batch_size` to the checkpoint's: on more ranks the accumulation is then solved from it.

## When to ignore

When the batch is meant to grow, and the order of the data does not matter.

## References

transformers, `trainer.py`: `_init_training_state`.
"""

from __future__ import annotations

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "resume-with-another-batch"
SEVERITY = "warning"
STAGE = "command"


def word(problem: Problem) -> Found:
    saved, planned = problem.detail.get("saved"), problem.detail.get("planned")
    return Found(
        message=(
            f"`{problem.detail.get('checkpoint')}` was trained with {saved} sequences per step, the plan has "
            f"{planned}: the run goes on at another place in the data"
        ),
        key=problem.key,
        fixes=(Fix(title="keep the global batch", edits={"global_batch_size": saved}, safety="manual"),),
    )
