"""A sharding strategy under `reshard_after_forward` with FSDP1

## What

With `fsdp.version: 1` the strategy stands under `fsdp.reshard_after_forward`.

## Why

FSDP1 reads `sharding_strategy` only. Accelerate's questionnaire and TRL's own example file write the other
key, and the launcher then trains FULL_SHARD whatever it says: more communication or less memory than was
asked for, silently.

## Example

    fsdp:
      version: 1
      reshard_after_forward: SHARD_GRAD_OP

## How to fix

    fsdp:
      version: 1
      sharding_strategy: SHARD_GRAD_OP

## When to ignore

Never: the value has no effect.

## References

accelerate, `utils/launch.py`; trl, `accelerate_configs/fsdp1.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "strategy-under-reshard"
SEVERITY = "error"

_KEY, _OWNER = "fsdp.reshard_after_forward", "fsdp.sharding_strategy"
_OF_BOOLEAN = {True: "FULL_SHARD", False: "SHARD_GRAD_OP"}


def check(recipe: Recipe) -> Iterator[Found]:
    value = recipe.value(_KEY)
    if recipe.value("fsdp.version") != 1 or value is None or recipe.value(_OWNER) is not None:
        return
    strategy = _OF_BOOLEAN.get(value, value) if isinstance(value, bool) else value
    fix = Fix(
        title=f"set `{_OWNER}: {strategy}` instead", edits={_KEY: None, _OWNER: strategy}, safety="safe"
    )
    yield Found(
        message=f"`{_KEY}: {literal(value)}` has no effect under FSDP1, which reads `{_OWNER}`",
        key=_KEY,
        fixes=(fix,),
    )
