"""A mesh that shards nothing

## What

`parallelism` replicates over ranks, but `dp_shard_size` and `cp_size` are 1.

## Why

Accelerate refuses FSDP2 on such a mesh in each rank: there is nothing to shard over.

## Example

    parallelism: {dp_replicate_size: 4, dp_shard_size: 1}

## How to fix

Raise `dp_shard_size`, or set `fsdp: null` for plain data parallelism.

## When to ignore

Never: it fails in every rank.

## References

accelerate, `accelerator.py`: FSDP2 with a parallelism config needs `dp_shard_size` or `cp_size` above 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "nothing-sharded-by-mesh"
SEVERITY = "error"


def check(plan: Plan) -> Iterator[Found]:
    world, mesh = plan.world, plan.world.mesh
    is_mesh = world.distributed_type == "FSDP2" and world.world_size > 1 and plan.parallelism is not None
    if is_mesh and mesh.dp_shard == 1 and mesh.cp == 1:
        yield Found(
            message="`parallelism.dp_shard_size` is 1, so the mesh shards nothing, which FSDP2 refuses",
            key="parallelism.dp_shard_size",
        )
