"""A setting that another section owns

## What

A legal upstream key whose meaning another key of the recipe has.

## Why

Two sources of one setting disagree sooner or later, and which one wins is then upstream's secret: training
arguments override the Accelerate file silently. In a recipe every setting has one place.

## Example

    sft:
      bf16: true

## How to fix

Set the owner that the message names, here `mixed_precision: bf16`, and remove the key.

## When to ignore

Never: the plan would hold two answers.

## References

transformers, `TrainingArguments.__post_init__`; Accelerate, `AcceleratorState`.
"""

from __future__ import annotations

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "key-of-another-section"
SEVERITY = "error"


def word(problem: Problem) -> Found:
    key, owner = str(problem.key), problem.detail.get("owner")
    message = f"`{key}` is not set here"
    if owner:
        message += f": {owner}" if " " in str(owner) else f": `{owner}` decides it"
    moved = problem.detail.get("edits")
    title = f"set `{owner}` instead" if moved else f"remove `{key}`"
    fix = Fix(title=title, edits=dict(moved or {key: None}), safety="safe" if moved else "unsafe")
    return Found(message=message, fixes=(fix,))
