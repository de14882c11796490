"""Hybrid sharding without a wrap policy

## What

`HYBRID_SHARD` under FSDP1 with `auto_wrap_policy: NO_WRAP`.

## Why

torch then wants the process groups given explicitly, which no setting can do: every rank fails.

## Example

    fsdp: {version: 1, sharding_strategy: HYBRID_SHARD, auto_wrap_policy: NO_WRAP}

## How to fix

Set `fsdp.auto_wrap_policy: TRANSFORMER_BASED_WRAP`, or leave the key out.

## When to ignore

Never: it fails in every rank.

## References

accelerate#2671
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "hybrid-unwrapped"
SEVERITY = "error"

_KEY = "fsdp.auto_wrap_policy"


def check(plan: Plan) -> Iterator[Found]:
    fsdp = plan.fsdp or {}
    hybrid = str(fsdp.get("sharding_strategy", "")).startswith("HYBRID")
    if plan.world.distributed_type == "FSDP1" and hybrid and fsdp.get("auto_wrap_policy") == "NO_WRAP":
        fix = Fix(title="wrap the model's blocks", edits={_KEY: "TRANSFORMER_BASED_WRAP"}, safety="safe")
        yield Found(
            message=f"`{_KEY}: NO_WRAP` fails with `{fsdp['sharding_strategy']}`", key=_KEY, fixes=(fix,)
        )
