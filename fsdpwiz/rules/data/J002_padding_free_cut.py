"""Padding-free batches that cannot be cut

## What

`sft.padding_free` without `packing`, and `sft.max_length` is not null; its default is 1024.

## Why

TRL does not cut padding-free rows to a length and refuses the pair in every rank.

## Example

    sft: {padding_free: true}

## How to fix

Use `packing: true`, which is padding-free already, or set `max_length: null` where the rows are short
enough.

## When to ignore

Never: it fails in every rank.

## References

trl, `sft_trainer.py`: "When `padding_free=True` without packing, `max_length` is not enforced."
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "padding-free-cut"
SEVERITY = "error"


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    training, length = plan.training, f"{plan.method}.max_length"
    if training.get("padding_free") is not True or training.get("packing") is True:
        return
    if recipe.has(length) and recipe.value(length) is None:
        return
    key = f"{plan.method}.padding_free"
    fix = Fix(title="pack instead", edits={f"{plan.method}.packing": True}, safety="unsafe")
    yield Found(message=f"`{key}` needs `packing: true` or `max_length: null`", key=key, fixes=(fix,))
