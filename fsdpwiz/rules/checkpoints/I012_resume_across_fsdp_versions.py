"""A resume across FSDP1 and FSDP2

## What

The checkpoint was saved under the other version of FSDP.

## Why

The optimizer's keys are named differently; its state would be lost or refused.

## Example

    fsdp: {version: 2}     # the checkpoint is of version 1

## How to fix

Set `fsdp.version` back, or export the checkpoint and start a new run from that model.

## When to ignore

Never: the run has stopped before it trained.

## References

torch.distributed.checkpoint, `get_optimizer_state_dict`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.checkpoints.differs import differs
from fsdpwiz.rules.rule import Found

NAME = "resume-across-fsdp-versions"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return differs(problem, "FSDP version", "fsdp.version")
