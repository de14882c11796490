"""A device mesh without FSDP2

## What

`parallelism` is given, but the run is FSDP1 or plain DDP.

## Why

Accelerate builds a mesh for FSDP2 only. With FSDP1 the sizes are ignored at the launch and fail or mislead
in the ranks.

## Example

    fsdp: {version: 1}
    parallelism: {dp_replicate_size: 2, dp_shard_size: 4}

## How to fix

Use FSDP2 (`fsdp.version: 2`), or `fsdp.sharding_strategy: HYBRID_SHARD`, which is FSDP1's word for it.

## When to ignore

Never: the mesh would not be built.

## References

accelerate, `utils/dataclasses.py`: `ParallelismConfig` wants FSDP2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "mesh-without-fsdp2"
SEVERITY = "error"


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    given = recipe.value("parallelism")
    kind = plan.world.distributed_type
    if not isinstance(given, Mapping) or kind not in ("FSDP1", "DDP"):
        return
    fix = Fix(title="remove `parallelism`", edits={"parallelism": None}, safety="unsafe")
    yield Found(message=f"`parallelism` needs FSDP2; this run is {kind}", key="parallelism", fixes=(fix,))
