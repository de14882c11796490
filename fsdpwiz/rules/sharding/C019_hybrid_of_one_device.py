"""Hybrid sharding with one device per node

## What

`HYBRID_SHARD` or `HYBRID_SHARD_ZERO2` under FSDP1 where a node counts one device: on CPU always, else with
one GPU per node.

## Why

torch then "switches to NO_SHARD because the world size is 1" for the group within the node and never
synchronises the gradients between the nodes: the run goes through and its model is wrong. The gradient norm
was seen at half its value.

## Example

    cluster: {device: cpu, processes_per_node: 4}
    fsdp: {version: 1, sharding_strategy: HYBRID_SHARD}

## How to fix

Use `FULL_SHARD`, or FSDP2 with `parallelism: {dp_replicate_size: 2, dp_shard_size: 2}`, which is right on
CPU too.

## When to ignore

Never: the result is wrong, silently.

## References

torch, `_init_utils.py`: the groups are made by the local device count.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "hybrid-of-one-device"
SEVERITY = "error"

_KEY = "fsdp.sharding_strategy"


def check(plan: Plan) -> Iterator[Found]:
    strategy = str((plan.fsdp or {}).get("sharding_strategy", ""))
    if plan.world.distributed_type != "FSDP1" or not strategy.startswith("HYBRID"):
        return
    if plan.world.device != "cpu" and plan.world.ranks_per_node > 1:
        return
    where = "on CPU" if plan.world.device == "cpu" else "with one GPU per node"
    fix = Fix(title="shard over all ranks", edits={_KEY: "FULL_SHARD"}, safety="safe")
    yield Found(
        message=f"`{_KEY}: {strategy}` {where} does not synchronise the gradients", key=_KEY, fixes=(fix,)
    )
