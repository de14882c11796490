"""A resume with another adapter or quantisation

## What

The sections `peft` or `quantization` are not those that the checkpoint was saved with.

## Why

Other parameters are trained, or held in another form, than the checkpoint has.

## Example

    peft: {r: 32}     # the checkpoint has r: 16

## How to fix

Set the section back, or start a new run.

## When to ignore

Never: the run has stopped before it trained.

## References

peft, `PeftModel.load_adapter`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.checkpoints.differs import differs
from fsdpwiz.rules.rule import Found

NAME = "resume-with-another-model"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return differs(problem, "model", "peft")
