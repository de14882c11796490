"""Two sharding strategies under FSDP1

## What

With `fsdp.version: 1` both `fsdp.sharding_strategy` and `fsdp.reshard_after_forward` are given.

## Why

Only `sharding_strategy` is read. Where the two differ, whoever reads the recipe cannot tell what was
trained.

## Example

    fsdp:
      version: 1
      sharding_strategy: FULL_SHARD
      reshard_after_forward: SHARD_GRAD_OP

## How to fix

Keep `sharding_strategy` and remove the other.

## When to ignore

Never: one of the two loses.

## References

accelerate, `utils/dataclasses.py`: the plugin prefers `FSDP_SHARDING_STRATEGY`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "two-strategies"
SEVERITY = "error"

_KEY, _OWNER = "fsdp.reshard_after_forward", "fsdp.sharding_strategy"
_BOOLEANS = {"FULL_SHARD": True, "SHARD_GRAD_OP": False}


def check(recipe: Recipe) -> Iterator[Found]:
    value, strategy = recipe.value(_KEY), recipe.value(_OWNER)
    if recipe.value("fsdp.version") != 1 or value is None or strategy is None:
        return
    agrees = value in (strategy, _BOOLEANS.get(strategy))
    yield Found(
        message=f"`{_KEY}: {literal(value)}` loses to `{_OWNER}: {literal(strategy)}` under FSDP1",
        key=_KEY,
        severity="warning" if agrees else "error",
        fixes=(Fix(title=f"remove `{_KEY}`", edits={_KEY: None}, safety="safe" if agrees else "unsafe"),),
    )
