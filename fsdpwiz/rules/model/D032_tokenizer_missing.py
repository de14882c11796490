"""A model folder without tokenizer

## What

The model's folder has weights but no tokenizer files, or one that is no JSON.

## Why

The trainer reads the tokenizer from the same folder and fails in every rank; the exported model could not
be used either.

## Example

    model: {name_or_path: ./weights-only}

## How to fix

Copy `tokenizer.json` and `tokenizer_config.json` from the model's origin into the folder.

## When to ignore

Never for our trainer. A `script` of one's own may take its tokenizer elsewhere.

## References

transformers, `AutoTokenizer.from_pretrained`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.facts.types import Model
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "tokenizer-missing"
SEVERITY = "error"


def check(model: Model, recipe: Recipe) -> Iterator[Found]:
    if recipe.value("script") or not model.config:
        return
    if model.where == "folder" and model.tokenizer is False:
        yield Found(message=f"`{model.path}` has no tokenizer", key="model.name_or_path")
    elif model.tokenizer_problem:
        message = f"The tokenizer in `{model.path}` cannot be loaded: {model.tokenizer_problem}"
        yield Found(message=message, key="model.name_or_path")
