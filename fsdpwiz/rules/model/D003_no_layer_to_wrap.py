"""No block class to wrap is known

## What

Blocks are to be wrapped by class, the recipe names none, and the model's architecture is not one that
fsdpwiz knows.

## Why

If the model has no `_no_split_modules` either, nothing is wrapped: the whole model is one unit, gathered at
once on every rank. The trainer counts the units before the first step and stops, but only after the model
was loaded.

## Example

    model: {name_or_path: ./my-own-architecture}

## How to fix

Name the block class: `fsdp.transformer_layer_cls_to_wrap: MyDecoderLayer`.

## When to ignore

When the model's code defines `_no_split_modules`.

## References

lerobot PR#4010
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Model
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "no-layer-to-wrap"
SEVERITY = "warning"

_KEY = "fsdp.transformer_layer_cls_to_wrap"
_WRAPPING = ("FSDP1", "FSDP2")


def word(problem: Problem) -> Found:
    return _found(problem.detail.get("architecture"))


def check(model: Model, plan: Plan) -> Iterator[Found]:
    fsdp = plan.fsdp or {}
    by_class = fsdp.get("auto_wrap_policy", "TRANSFORMER_BASED_WRAP") == "TRANSFORMER_BASED_WRAP"
    if plan.world.distributed_type not in _WRAPPING or not by_class or model.problem:
        return
    if not model.layer_classes and not fsdp.get("transformer_layer_cls_to_wrap"):
        yield _found(model.architecture)


def _found(architecture: object) -> Found:
    what = f"The architecture `{architecture}`" if architecture else "The model's architecture"
    return Found(message=f"{what} is not known, so no block class to wrap is; name one in `{_KEY}`", key=_KEY)
