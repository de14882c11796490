"""A checkpoint that cannot be exported

## What

The checkpoint cannot be read, is incomplete, was written by an unknown program, or refers to files outside
its folder.

## Why

Exporting what is half there would give a model that loads and is wrong. A checkpoint's metadata is opened
by a reader that admits nothing but torch's own metadata classes.

## Example

    fsdpwiz export runs/a/20260101-120000/checkpoints/checkpoint-7

## How to fix

Name a complete checkpoint: a `step-N` folder always is. Of a run that was killed in a save take the one
before.

## When to ignore

Never: nothing was written.

## References

torch.distributed.checkpoint, `.metadata`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "checkpoint-not-exportable"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    source, reason = problem.detail.get("source"), problem.detail.get("reason")
    what = f"`{source}`" if source else "The checkpoint"
    return Found(message=f"{what} cannot be exported" + (f": {reason}" if reason else ""))
