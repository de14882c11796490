"""FSDP with nothing to shard

## What

The run has one rank, or its strategy is `NO_SHARD`.

## Why

One rank trains without FSDP, which there would only add overhead; activation checkpointing is then the
Trainer's, checkpoints and export are the same, and the other keys of `fsdp` have no effect. With
`fsdp.offload_params` one rank does run FSDP. `NO_SHARD` is deprecated by torch: it is DDP by another name.

## Example

    cluster: {nodes: 1, gpus_per_node: 1}
    fsdp: {reshard_after_forward: false}

## How to fix

Nothing is wrong. Remove the keys that the message names, or use more ranks.

## When to ignore

When the recipe is also used on several ranks.

## References

torch, `ShardingStrategy.NO_SHARD`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import listed

NAME = "nothing-sharded"
SEVERITY = "info"

_OBEYED_BY_ONE_RANK = frozenset({"activation_checkpointing"})
_NO_SHARD_KEY = "fsdp.sharding_strategy"


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    world = plan.world
    if world.world_size == 1 and world.distributed_type == "NO":
        yield from _one_rank(recipe)
    elif world.distributed_type == "FSDP1" and (plan.fsdp or {}).get("sharding_strategy") == "NO_SHARD":
        yield Found(
            message=f"`{_NO_SHARD_KEY}: NO_SHARD` shards nothing and is deprecated; `fsdp: null` is DDP",
            key=_NO_SHARD_KEY,
            severity="warning",
        )


def _one_rank(recipe: Recipe) -> Iterator[Found]:
    given = recipe.value("fsdp")
    keys = (
        [f"fsdp.{key}" for key, value in given.items() if _lost(key, value)]
        if isinstance(given, Mapping)
        else []
    )
    if keys:
        verb = "has" if len(keys) == 1 else "have"
        yield Found(
            message=f"{listed(keys, joint='and')} {verb} no effect: one rank trains without FSDP", key=keys[0]
        )
    elif recipe.value("parallelism"):
        yield Found(message="`parallelism` has no effect: one rank trains without FSDP", key="parallelism")


def _lost(key: str, value: object) -> bool:
    return value is not None and key not in _OBEYED_BY_ONE_RANK
