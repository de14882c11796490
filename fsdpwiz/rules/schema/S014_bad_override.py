"""An override that cannot be read

## What

An argument of the command line that is not `section.key=value`, or whose value is not YAML.

## Why

A setting that was meant for this run would be lost. The command ends with exit code 2 as for any wrong
usage.

## Example

    fsdpwiz run smollm2-135m-sft sft.max_steps:10

## How to fix

Write `sft.max_steps=10`. Quote the argument where the shell would read it: `'env={"A": "1"}'`.

## When to ignore

Never.

## References

`fsdpwiz run --help`
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "bad-override"
SEVERITY = "error"
EXIT = 2


def word(problem: Problem) -> Found:
    reason = problem.detail.get("reason")
    why = f": {reason}" if reason else ""
    override = literal(problem.detail.get("override"))
    return Found(message=f"`{override}` is not an override of the form `section.key=value`{why}")
