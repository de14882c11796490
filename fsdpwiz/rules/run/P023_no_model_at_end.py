"""The run ended without a verified model

## What

Every process ended with exit code 0, but no model was exported and verified.

## Why

A run is there to leave a model that loads. One that leaves none has failed, whatever its exit code says.

## Example

    The run ended without a verified model in `model`

## How to fix

`fsdpwiz export RUN` makes a model of the latest checkpoint. The ranks' logs say how they ended.

## When to ignore

Never.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "no-model-at-end"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    return Found(
        message=f"The run ended without a verified model in `{literal(problem.detail.get('path', 'model'))}`"
    )
