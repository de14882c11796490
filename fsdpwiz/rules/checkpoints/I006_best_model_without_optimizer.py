"""The best model from checkpoints of weights alone

## What

`sft.load_best_model_at_end` with `sft.save_only_model` under FSDP.

## Why

The Trainer refuses it in every rank.

## Example

    sft: {save_only_model: true, load_best_model_at_end: true}

## How to fix

Remove one of the two.

## When to ignore

Never: it fails in every rank.

## References

transformers, `trainer.py`: "can't be used with `save_only_model` along with `load_best_model_at_end`".
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "best-model-without-optimizer"
SEVERITY = "error"


def check(plan: Plan) -> Iterator[Found]:
    training = plan.training
    both = training.get("save_only_model") is True and training.get("load_best_model_at_end") is True
    if plan.world.distributed_type in ("FSDP1", "FSDP2") and both:
        key = f"{plan.method}.save_only_model"
        fix = Fix(title="save the optimizer too", edits={key: None}, safety="unsafe")
        yield Found(
            message=f"`{key}` does not work with `load_best_model_at_end` under FSDP", key=key, fixes=(fix,)
        )
