"""The exported model did not pass its verification

## What

After the export the folder is read back: no key may be missing or unexpected, shapes and dtypes must be
right, and sampled blocks of every tensor must equal the trained state. One of these failed.

## Why

A run can end with exit code 0 and a folder without weights: upstream's `save_model` writes none under
SHARDED_STATE_DICT. So a run whose model was not seen to be right is a failed run, and nothing is pushed.

## Example

    model.layers.3.mlp.up_proj.weight: shape [576, 1536] expected, the file has [1536, 576]

## How to fix

The checkpoints are untouched: `fsdpwiz export RUN` writes and verifies the model again. Check the disk for
space.

## When to ignore

Never.

## References

transformers#30491
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import listed

NAME = "export-not-verified"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    detail = problem.detail
    reason = detail.get("reason") or "it differs from the trained state"
    tensors = detail.get("tensors")
    named = f": {listed(tensors, joint='and')}" if isinstance(tensors, (list, tuple)) and tensors else ""
    return Found(message=f"The exported model was not verified, {reason}{named}")
