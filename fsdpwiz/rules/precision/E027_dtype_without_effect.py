"""A dtype that nothing has

## What

`model.dtype` is set, everything is trained, and mixed precision is on.

## Why

Under `mixed_precision: bf16` or `fp16` what is trained is held in float32, weights and optimizer, and
computed in that type. `model.dtype` is the type of frozen weights, and of all weights under
`mixed_precision: no`. Here nothing is frozen.

## Example

    model: {dtype: bfloat16}
    mixed_precision: bf16

## How to fix

Remove the key. To hold everything in 16 bits, which needs half the memory and trains less exactly, set
`mixed_precision: no` beside it.

## When to ignore

When the recipe is also used with `peft`.

## References

accelerate, `utils/fsdp_utils.py`: FSDP2 upcasts trainable parameters when mixed precision is on.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "dtype-without-effect"
SEVERITY = "warning"

_KEY = "model.dtype"


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    given = recipe.value(_KEY)
    frozen = plan.peft is not None or plan.quantization is not None
    if given is None or frozen or plan.mixed_precision == "no" or str(given) == plan.model.trainable_dtype:
        return
    yield Found(
        message=f"`{_KEY}: {literal(given)}` has no effect: under `mixed_precision: {plan.mixed_precision}` "
        f"what is trained is held in {plan.model.trainable_dtype}, and nothing is frozen",
        key=_KEY,
        fixes=(Fix(title=f"remove `{_KEY}`", edits={_KEY: None}, safety="safe"),),
    )
