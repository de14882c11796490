"""Packing without a length

## What

`sft.packing` with `sft.max_length: null`.

## Why

Rows are packed into sequences of `max_length` tokens. TRL refuses null in every rank.

## Example

    sft: {packing: true, max_length: null}

## How to fix

Set `sft.max_length`, or leave it out.

## When to ignore

Never: it fails in every rank.

## References

trl, `sft_trainer.py`: "When packing is enabled, `max_length` can't be `None`."
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "packing-without-length"
SEVERITY = "error"


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    key = f"{plan.method}.max_length"
    if plan.training.get("packing") is True and recipe.has(key) and recipe.value(key) is None:
        fix = Fix(title="pack into 2048 tokens", edits={key: 2048}, safety="unsafe")
        yield Found(
            message=f"`{key}` is null and `{plan.method}.packing` needs a length", key=key, fixes=(fix,)
        )
