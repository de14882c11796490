"""A model folder without weights

## What

`model.name_or_path` is a folder that has a `config.json` but no weight files.

## Why

Every rank would fail in `from_pretrained`. Most often the download was interrupted, or Git LFS left
pointers only.

## Example

    model: {name_or_path: ./llama2-7b}

## How to fix

Fetch the weights: `hf download REPOSITORY --local-dir FOLDER`. A run's own checkpoint becomes a model by
`fsdpwiz export RUN`.

## When to ignore

Never: the model cannot be loaded.

## References

transformers, `PreTrainedModel.from_pretrained`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.facts.types import Model
from fsdpwiz.rules.rule import Found

NAME = "model-without-weights"
SEVERITY = "error"


def check(model: Model) -> Iterator[Found]:
    if model.where == "folder" and model.has_weights is False and model.config:
        why = f": {model.problem}" if model.problem else ""
        yield Found(message=f"`{model.path}` has no weights{why}", key="model.name_or_path")
