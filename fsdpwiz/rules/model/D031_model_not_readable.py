"""A model that cannot be read

## What

`model.name_or_path` is a folder that does not exist, has no `config.json`, or whose config or weight files
are broken.

## Why

Every rank would fail in `from_pretrained`, or ask the hub for a repository of that name.

## Example

    model: {name_or_path: ./models/llama}

## How to fix

Check the path: it is taken relative to the folder the command runs in. A hub id has the form `owner/name`.

## When to ignore

Never: the model cannot be loaded.

## References

transformers, `AutoConfig.from_pretrained`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.facts.types import Model
from fsdpwiz.rules.rule import Found

NAME = "model-not-readable"
SEVERITY = "error"


def check(model: Model) -> Iterator[Found]:
    without_weights = model.has_weights is False and bool(model.config)
    if model.problem and not without_weights:
        where = f"`{model.path}`" if model.path else "The model"
        yield Found(message=f"{where} cannot be loaded: {model.problem}", key="model.name_or_path")
