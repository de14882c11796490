"""bfloat16 on a card without it

## What

`mixed_precision: bf16` on a GPU of compute capability below 8.0.

## Why

Such cards have no bfloat16 arithmetic: transformers refuses it, or torch emulates it slowly.

## Example

    cluster: {device: cuda, gpu: V100-32GB}
    mixed_precision: bf16

## How to fix

Leave `mixed_precision` out (then it is `no` there), or take `fp16`.

## When to ignore

Never: the ranks refuse it.

## References

transformers, `training_args.py`: bf16 needs Ampere or newer.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix, Quantity
from fsdpwiz.facts.types import Gpus
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "bf16-unsupported"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "warning"

_BF16_CAPABILITY = (8, 0)


def check(gpus: Gpus, plan: Plan) -> Iterator[Found]:
    if plan.world.device != "cuda" or plan.mixed_precision != "bf16":
        return
    for card in gpus.cards:
        capability = card.compute_capability
        if capability is not None and tuple(capability) < _BF16_CAPABILITY:
            shown = f"{capability[0]}.{capability[1]}"
            yield Found(
                message=f"bf16 needs compute capability 8.0; GPU {card.index} ({card.name}) has {shown}",
                key="mixed_precision",
                gpu=card.index,
                evidence=(Quantity(name="compute_capability", value=shown, source=gpus.source),),
                fixes=(Fix(title="compute in fp16", edits={"mixed_precision": "fp16"}, safety="unsafe"),),
            )
            return
