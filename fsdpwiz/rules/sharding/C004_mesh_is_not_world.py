"""The mesh does not fill the world

## What

The product of the sizes in `parallelism` is not the number of ranks, nodes × ranks per node.

## Why

Each rank would fail when it builds the mesh, after queue and start-up.

## Example

    cluster: {nodes: 1, gpus_per_node: 8}
    parallelism: {dp_replicate_size: 2, dp_shard_size: 2}

## How to fix

Leave `dp_shard_size` out: it then takes the ranks that the other axes leave. Or change the cluster.

## When to ignore

Never: it fails in every rank.

## References

accelerate, `ParallelismConfig`: the sizes are compared with the world size when the mesh is built.
"""

from __future__ import annotations

from math import prod

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import counted

NAME = "mesh-is-not-world"
SEVERITY = "error"

_KEY = "parallelism.dp_shard_size"


def word(problem: Problem) -> Found:
    sizes, world_size = dict(problem.detail.get("mesh") or {}), problem.detail.get("world_size")
    axes = " × ".join(f"{axis} {size}" for axis, size in sizes.items() if size != 1) or "1"
    product = prod(sizes.values())
    message = f"`parallelism` is a mesh of {counted(product, 'rank')} ({axes}); the run has {world_size}"
    others = product // (sizes.get("dp_shard") or 1)
    if not isinstance(world_size, int) or not others or world_size % others:
        return Found(message=message)
    shard = world_size // others
    fix = Fix(title=f"set `{_KEY}` to {shard}", edits={_KEY: shard}, safety="unsafe")
    return Found(message=message, fixes=(fix,))
