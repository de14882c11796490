"""A model was not streamed

## What

The plan streams the model's weights, each rank reading its own rows. These weights could not be streamed
exactly, so every rank loaded all of them.

## Why

Some weights are made while they are loaded: experts that transformers fuses, values that a model's own code
computes, files that are not safetensors. Host memory is then needed for the whole model on every rank, in
the dtype it is trained in: four bytes a parameter.

## Example

    model: {name_or_path: mistralai/Mixtral-8x7B-v0.1}

## How to fix

Save the model once more with a current transformers (`save_pretrained` writes safetensors in the names of
today's architecture), or see that each node has memory for it on every rank.

## When to ignore

When the memory is there: the weights are the same.

## References

transformers, `core_model_loading.py`; accelerate, `fsdp2_load_full_state_dict`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "load-not-streamed"
SEVERITY = "warning"
STAGE = "training"


def word(problem: Problem) -> Found:
    model, reason = (
        problem.detail.get("model", "the model"),
        problem.detail.get("reason", "it is not known why"),
    )
    return Found(
        message=f"`{model}` was loaded whole by every rank, not streamed: {reason}", key="model.loading"
    )
