"""Prefetching without workers

## What

`sft.dataloader_prefetch_factor` with `dataloader_num_workers: 0`, the default.

## Why

transformers refuses it in every rank: only workers prefetch.

## Example

    sft: {dataloader_prefetch_factor: 4}

## How to fix

Set `sft.dataloader_num_workers`, or remove the factor.

## When to ignore

Never: it fails in every rank.

## References

transformers, `training_args.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "prefetch-without-workers"
SEVERITY = "error"


def check(plan: Plan) -> Iterator[Found]:
    training = plan.training
    if training.get("dataloader_prefetch_factor") is not None and not training.get("dataloader_num_workers"):
        key = f"{plan.method}.dataloader_prefetch_factor"
        fix = Fix(title=f"remove `{key}`", edits={key: None}, safety="safe")
        yield Found(message=f"`{key}` needs `dataloader_num_workers` above 0", key=key, fixes=(fix,))
