"""Keys of FSDP1 in an FSDP2 recipe

## What

The recipe trains by FSDP2 and gives keys that only FSDP1 reads.

## Why

They are dropped, all but one silently. Whoever migrated from FSDP1 believes that they still work.

## Example

    fsdp:
      version: 2
      forward_prefetch: true

## How to fix

Remove them. FSDP2 always keeps the original parameters and prefetches by itself; its word for a strategy is
`reshard_after_forward`.

## When to ignore

Where the version is switched by an override.

## References

accelerate, `commands/to_fsdp2.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "keys-of-fsdp1"
SEVERITY = "warning"

_KEYS = ("sharding_strategy", "backward_prefetch", "forward_prefetch", "use_orig_params")
_RESHARD = {"FULL_SHARD": True, "SHARD_GRAD_OP": False}


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    if plan.world.distributed_type != "FSDP2":
        return
    for name in _KEYS:
        key, value = f"fsdp.{name}", recipe.value(f"fsdp.{name}")
        if value is None:
            continue
        edits: dict[str, bool | None] = {key: None}
        if name == "sharding_strategy" and value in _RESHARD:
            edits["fsdp.reshard_after_forward"] = _RESHARD[value]
        yield Found(
            message=f"`{key}` has no effect under FSDP2",
            key=key,
            severity="error" if name == "sharding_strategy" and value != "FULL_SHARD" else None,
            fixes=(Fix(title=f"remove `{key}`", edits=edits, safety="unsafe" if len(edits) > 1 else "safe"),),
        )
