"""A recipe that is not a mapping

## What

The file is YAML, but its top level is a list, a single value or nothing at all.

## Why

A recipe is a mapping of sections. Nothing can be judged; the command ends with exit code 2.

## Example

    - sft
    - fsdp

## How to fix

Write `key: value` lines. `fsdpwiz recipes show smollm2-135m-sft` prints a complete one.

## When to ignore

Never.

## References

`fsdpwiz schema`
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "recipe-not-a-mapping"
SEVERITY = "error"
EXIT = 2


def word(problem: Problem) -> Found:
    got = problem.detail.get("got")
    return Found(message="The recipe must be a mapping of sections" + (f", not {got}" if got else ""))
