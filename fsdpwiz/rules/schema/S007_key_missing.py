"""A key without which there is nothing to train

## What

The recipe names no model (`model.name_or_path`) or no data (`data.name_or_path`).

## Why

There is no default for either.

## Example

    model: {name_or_path: HuggingFaceTB/SmolLM2-135M-Instruct}
    sft: {max_steps: 10}

## How to fix

Add the key: a hub id, or the path of a folder or file. A `script` of one's own brings both itself.

## When to ignore

Never: nothing can be planned.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "key-missing"
SEVERITY = "error"

_WHAT = {"model": "the model to train", "data": "the data to train on"}


def word(problem: Problem) -> Found:
    what = _WHAT.get(str(problem.detail.get("section")), "a value that has no default")
    return Found(message=f"`{problem.key}` is missing: {what}")
