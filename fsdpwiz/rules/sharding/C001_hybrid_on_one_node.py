"""Hybrid sharding within one node

## What

The shards are replicated (`HYBRID_SHARD`, or `parallelism.dp_replicate_size` above 1) though the run has
one node.

## Why

Hybrid sharding saves traffic between nodes. Within one node, where GPUs talk over NVLink, each replica
costs its own copy of weights, gradients and optimizer state, and nothing is saved.

## Example

    cluster: {nodes: 1, gpus_per_node: 8}
    parallelism: {dp_replicate_size: 2, dp_shard_size: 4}

## How to fix

Shard over all GPUs: remove `parallelism`, or set `sharding_strategy: FULL_SHARD` under FSDP1.

## When to ignore

Where the GPUs of the node form islands without a fast link between them.

## References

torch, `ShardingStrategy.HYBRID_SHARD`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "hybrid-on-one-node"
SEVERITY = "warning"


def check(plan: Plan) -> Iterator[Found]:
    edits: dict[str, str | None]
    world, fsdp = plan.world, plan.fsdp or {}
    if world.nodes > 1 or world.device != "cuda" or world.distributed_type not in ("FSDP1", "FSDP2"):
        return
    if str(fsdp.get("sharding_strategy", "")).startswith("HYBRID"):
        key, edits = "fsdp.sharding_strategy", {"fsdp.sharding_strategy": "FULL_SHARD"}
    elif world.mesh.dp_replicate > 1 and world.mesh.dp_shard > 1:
        key, edits = "parallelism.dp_replicate_size", {"parallelism": None}
    else:
        return
    yield Found(
        message=f"`{key}` replicates the shards within one node, which costs memory and saves no traffic",
        key=key,
        fixes=(Fix(title="shard over all GPUs of the node", edits=edits, safety="unsafe"),),
    )
