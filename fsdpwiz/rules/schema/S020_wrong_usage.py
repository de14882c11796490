"""Wrong usage of the command line

## What

A verb, option or argument that the command line does not have, or a combination that makes no sense.

## Why

Nothing was done; the command ends with exit code 2.

## Example

    fsdpwiz validat smollm2-135m-sft

## How to fix

`fsdpwiz --help` lists the verbs, `fsdpwiz VERB --help` the options of one.

## When to ignore

Never.

## References

`fsdpwiz --help`
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "wrong-usage"
SEVERITY = "error"
STAGE = "command"
EXIT = 2


def word(problem: Problem) -> Found:
    detail = problem.detail
    return Found(
        message=str(detail.get("message") or detail.get("reason") or "The command line cannot be read")
    )
