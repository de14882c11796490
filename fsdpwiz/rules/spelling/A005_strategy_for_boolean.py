"""A strategy's name where FSDP2 wants true or false

## What

With FSDP2 `fsdp.reshard_after_forward` is the name of one of FSDP1's strategies.

## Why

FSDP2 takes a boolean there and fails in every rank.

## Example

    fsdp:
      version: 2
      reshard_after_forward: SHARD_GRAD_OP

## How to fix

`true` gathers each block again in the backward pass (FSDP1's `FULL_SHARD`), `false` keeps it gathered
(`SHARD_GRAD_OP`). FSDP1's hybrid strategies are `parallelism: {dp_replicate_size: NODES}`.

## When to ignore

Never: it fails in every rank.

## References

accelerate, `utils/dataclasses.py`: "reshard_after_forward must be a bool".
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "strategy-for-boolean"
SEVERITY = "error"

_KEY = "fsdp.reshard_after_forward"
_BOOLEANS = {"FULL_SHARD": True, "SHARD_GRAD_OP": False}


def check(recipe: Recipe) -> Iterator[Found]:
    value = recipe.value(_KEY)
    if recipe.value("fsdp.version") == 1 or not isinstance(value, str):
        return
    fixes: tuple[Fix, ...] = ()
    if value in _BOOLEANS:
        wanted = _BOOLEANS[value]
        fixes = (Fix(title=f"set `{_KEY}: {str(wanted).lower()}`", edits={_KEY: wanted}, safety="safe"),)
    yield Found(
        message=f"`{_KEY}: {value}` is FSDP1's; under FSDP2 it must be true or false", key=_KEY, fixes=fixes
    )
