"""float16 mixed precision on CPU

## What

`mixed_precision: fp16` with `cluster.device: cpu`.

## Why

Accelerate refuses it in every rank: its gradient scaler needs a GPU.

## Example

    cluster: {device: cpu}
    mixed_precision: fp16

## How to fix

Set `mixed_precision: bf16`, which CPUs compute, or `no`.

## When to ignore

Never: it fails in every rank.

## References

accelerate, `accelerator.py`: "fp16 mixed precision requires a device in …".
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "fp16-on-cpu"
SEVERITY = "error"


def check(plan: Plan) -> Iterator[Found]:
    if plan.mixed_precision == "fp16" and plan.world.device == "cpu":
        fix = Fix(title="compute in bf16", edits={"mixed_precision": "bf16"}, safety="unsafe")
        yield Found(
            message="`mixed_precision: fp16` does not work on CPU", key="mixed_precision", fixes=(fix,)
        )
