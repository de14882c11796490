"""A wrap by size without a size

## What

`fsdp.auto_wrap_policy: SIZE_BASED_WRAP` with `min_num_params: 0`.

## Why

Accelerate takes 0 for "no policy": nothing is wrapped and the whole model is gathered at once on every
rank.

## Example

    fsdp: {auto_wrap_policy: SIZE_BASED_WRAP, min_num_params: 0}

## How to fix

Leave `min_num_params` out (100,000,000), or wrap by class: `TRANSFORMER_BASED_WRAP`.

## When to ignore

Never: it is the opposite of what was asked for.

## References

accelerate, `utils/dataclasses.py`: `set_auto_wrap_policy`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "nothing-large-enough"
SEVERITY = "error"

_KEY = "fsdp.min_num_params"


def check(plan: Plan) -> Iterator[Found]:
    fsdp = plan.fsdp or {}
    if fsdp.get("auto_wrap_policy") == "SIZE_BASED_WRAP" and fsdp.get("min_num_params") == 0:
        fix = Fix(title="take the default size", edits={_KEY: None}, safety="unsafe")
        yield Found(message=f"`{_KEY}: 0` wraps nothing", key=_KEY, fixes=(fix,))
