"""A resume across FSDP and plain training

## What

The checkpoint was saved under FSDP and the recipe trains without it, or the other way round.

## Why

The Trainer reads an FSDP checkpoint only under FSDP, and the optimizer state of the one does not fit the
other. One rank trains without FSDP, so a change of the number of ranks to or from one is such a change.

## Example

    cluster: {gpus_per_node: 1}     # the checkpoint is of 8 ranks

## How to fix

Resume on several ranks, or with `fsdp.offload_params` on one. Else export the checkpoint and start a new
run from that model.

## When to ignore

Never: the run has stopped before it trained.

## References

transformers, `trainer.py`: "only supported when using PyTorch FSDP".
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.checkpoints.differs import differs
from fsdpwiz.rules.rule import Found

NAME = "resume-across-fsdp"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return differs(problem, "distributed type", "fsdp")
