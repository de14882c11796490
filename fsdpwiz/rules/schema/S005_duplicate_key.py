"""A key given twice

## What

A key that stands twice in the same mapping.

## Why

YAML forbids it, most readers keep the last one silently, and the person who edits the first one wonders.

## Example

    sft:
      max_steps: 10
      max_steps: 500

## How to fix

Keep one of the two lines.

## When to ignore

Never: which one was meant cannot be told.

## References

YAML 1.2, 3.2.1.1: mapping keys are unique.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "duplicate-key"
SEVERITY = "error"


def word(problem: Problem) -> Found:
    first = problem.detail.get("first_line")
    return Found(message=f"`{problem.key}` is given twice" + (f", first in line {first}" if first else ""))
