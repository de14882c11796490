"""The launcher failed before a rank did

## What

`accelerate launch` ended with an error, and no rank left one.

## Why

The ranks never started, or the nodes did not find each other.

## Example

    The launcher ended with exit code 1: `ConnectionError: port 29500 is in use`

## How to fix

Read the end of `attempts/N/launcher-K.log`. On several nodes check that all were started with the same
`--main-address` and that this address can be reached from each.

## When to ignore

Never.

## References

`accelerate launch --help`
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "launcher-failed"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    detail = problem.detail
    last = f": `{literal(detail['message'])}`" if detail.get("message") else ""
    log = f"; its output is in `{detail['log']}`" if detail.get("log") else ""
    return Found(message=f"The launcher ended with exit code {detail.get('exit_code')}{last}{log}")
