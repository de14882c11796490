"""A recipe that cannot be read

## What

A recipe file that cannot be opened, is not UTF-8 text, or is not YAML.

## Why

Nothing can be judged; the command ends with exit code 2. Tags that build objects are refused, as are files
that are not plain files.

## Example

    sft: {max_steps: 10

## How to fix

Mend the line that the message names. YAML indents with spaces, never with tabs, and wants a space after the
colon.

## When to ignore

Never.

## References

YAML 1.2
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "recipe-not-readable"
SEVERITY = "error"
EXIT = 2


def word(problem: Problem) -> Found:
    reason = problem.detail.get("reason") or "it is not YAML"
    return Found(message=f"The recipe cannot be read: {reason}")
