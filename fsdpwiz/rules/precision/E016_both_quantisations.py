"""Two quantisations at once

## What

`load_in_4bit` and `load_in_8bit` are both true.

## Why

bitsandbytes refuses it in every rank.

## Example

    quantization: {load_in_4bit: true, load_in_8bit: true}

## How to fix

Keep `load_in_4bit`.

## When to ignore

Never: it fails in every rank.

## References

transformers, `BitsAndBytesConfig`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "both-quantisations"
SEVERITY = "error"

_KEY = "quantization.load_in_8bit"


def check(recipe: Recipe) -> Iterator[Found]:
    if recipe.value(_KEY) is True and recipe.value("quantization.load_in_4bit") is True:
        fix = Fix(title="keep 4 bits", edits={_KEY: None}, safety="unsafe")
        yield Found(message=f"`{_KEY}` and `load_in_4bit` are both true", key=_KEY, fixes=(fix,))
