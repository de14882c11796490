"""A smaller batch tried again under FSDP

## What

`sft.auto_find_batch_size` with FSDP.

## Why

After an out-of-memory error the Trainer begins again with a smaller batch and wraps the model that is
wrapped already. The batch would not be the planned one either.

## Example

    sft: {auto_find_batch_size: true}

## How to fix

Set `sft.per_device_train_batch_size`; with `global_batch_size` the accumulation follows.

## When to ignore

Never: it fails in every rank.

## References

transformers#34113
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "retry-under-fsdp"
SEVERITY = "error"


def check(plan: Plan) -> Iterator[Found]:
    if plan.training.get("auto_find_batch_size") is True and plan.world.distributed_type in (
        "FSDP1",
        "FSDP2",
    ):
        key = f"{plan.method}.auto_find_batch_size"
        fix = Fix(title=f"remove `{key}`", edits={key: None}, safety="safe")
        yield Found(message=f"`{key}` wraps the model twice under FSDP", key=key, fixes=(fix,))
