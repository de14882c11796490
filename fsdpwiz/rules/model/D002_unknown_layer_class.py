"""A class to wrap that the model does not have

## What

`fsdp.transformer_layer_cls_to_wrap` names a class that is not a block of this model.

## Why

The names are case-sensitive, and the error comes in every rank after the model was loaded: "could not find
the transformer layer class to wrap".

## Example

    model: {name_or_path: meta-llama/Llama-2-7b-hf}
    fsdp: {transformer_layer_cls_to_wrap: LLamaDecoderLayer}

## How to fix

Leave the key out: the model's own block classes are taken. Or write the name that the message gives.

## When to ignore

When the class is another module of this model which the catalogue does not list.

## References

accelerate#1943, LlamaFactory#8279
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Model
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import listed

NAME = "unknown-layer-class"
SEVERITY = "error"

_KEY = "fsdp.transformer_layer_cls_to_wrap"


def word(problem: Problem) -> Found:
    return _found(str(problem.detail.get("got")), tuple(problem.detail.get("legal") or ()))


def check(recipe: Recipe, model: Model) -> Iterator[Found]:
    if not model.layer_classes:
        return
    for name in _names(recipe.value(_KEY)):
        if name not in model.layer_classes:
            yield _found(name, model.layer_classes)


def _names(value: Any) -> list[str]:
    names = value if isinstance(value, (list, tuple)) else str(value or "").split(",")
    return [str(name).strip() for name in names if str(name).strip()]


def _found(name: str, classes: tuple[str, ...]) -> Found:
    exact = [known for known in classes if known.lower() == name.lower()]
    nearest = exact or get_close_matches(name, classes, n=1, cutoff=0.8)
    fix = Fix(title="take the model's own blocks", edits={_KEY: None}, safety="safe" if nearest else "unsafe")
    return Found(
        message=f"`{name}` is not a block of this model, which has {listed(classes, joint='and')}",
        key=_KEY,
        severity=None if nearest or not _shares_family(name, classes) else "warning",
        fixes=(fix,),
    )


def _shares_family(name: str, classes: tuple[str, ...]) -> bool:
    """Whether the name begins as the model's blocks do, so that another of its modules may be meant."""
    families = {known.removesuffix("DecoderLayer").removesuffix("Block") for known in classes}
    return any(family and name.startswith(family) for family in families)
