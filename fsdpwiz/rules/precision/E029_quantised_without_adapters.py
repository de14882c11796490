"""A quantised base without adapters

## What

`quantization` is set and `peft` is not, so nothing could be trained: quantised weights are frozen.

## Why

TRL refuses it when it builds the trainer, in every rank, after the model was loaded.

## Example

    quantization: {load_in_4bit: true}

## How to fix

Add adapters, e.g. `peft: {task_type: CAUSAL_LM, target_modules: all-linear}`, or remove `quantization`.

## When to ignore

Never, with the bundled trainer.

## References

transformers, `trainer.py`: "You cannot perform fine-tuning on purely quantized models".
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "quantised-without-adapters"
SEVERITY = "error"

_ADAPTERS = {"peft.task_type": "CAUSAL_LM", "peft.target_modules": "all-linear"}


def check(plan: Plan) -> Iterator[Found]:
    if plan.quantization is None or plan.peft is not None or plan.script is not None:
        return
    yield Found(
        message="`quantization` freezes the whole model and `peft` adds nothing to train",
        key="quantization",
        fixes=(
            Fix(title="train adapters", edits=_ADAPTERS, safety="unsafe"),
            Fix(title="train the unquantised model", edits={"quantization": None}, safety="unsafe"),
        ),
    )
