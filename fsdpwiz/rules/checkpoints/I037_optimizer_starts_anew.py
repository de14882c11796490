"""The optimizer starts anew

## What

The run started from a checkpoint of another layout. Its weights were taken; its optimizer state was not.

## Why

A state is taken over where the checkpoint keeps it by parameter name (FSDP's, sharded or in
`optimizer.bin`), for every trained parameter, in its shape, and of the same kind of optimizer. The Trainer's
`optimizer.pt` of a run without FSDP keeps it by position, a plain model folder not at all.

## Example

    sft: {resume_from_checkpoint: model-folder}

## How to fix

Nothing, where a new optimizer is meant. Else name a checkpoint with `optimizer_0` or `optimizer.bin` beside
the weights, and keep `sft.optim`. With a new optimizer let the learning rate warm up (`sft.warmup_steps`).

## When to ignore

When the checkpoint was taken for its weights.

## References

torch, `FullyShardedDataParallel.optim_state_dict`; `docs/concepts/checkpoints.md`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "optimizer-starts-anew"
SEVERITY = "warning"
STAGE = "training"


def word(problem: Problem) -> Found:
    checkpoint = literal(problem.detail.get("checkpoint") or "the checkpoint")
    reason = problem.detail.get("reason") or "it is not known why"
    return Found(message=f"The weights of `{checkpoint}` were taken and the optimizer starts anew: {reason}")
