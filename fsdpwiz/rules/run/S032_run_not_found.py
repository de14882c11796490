"""No run of that name

## What

The argument is neither a run's folder, nor the name of a run under `output_dir`, nor `last` where there is
one.

## Why

Without a run there is nothing to go on with; the command ends with exit code 2.

## Example

    fsdpwiz run --resume llama3-8b

## How to fix

Give the run's folder, or with `--output-dir` the folder in which runs are looked for.

## When to ignore

Never.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import listed, literal

NAME = "run-not-found"
SEVERITY = "error"
STAGE = "command"
EXIT = 2


def word(problem: Problem) -> Found:
    detail = problem.detail
    known, nearest = detail.get("known") or (), detail.get("nearest") or ()
    reference, place = literal(detail.get("reference")), literal(detail.get("output_dir"))
    hint = f"; the nearest is `{literal(nearest[0])}`" if nearest else ""
    if not hint and known:
        hint = f"; there is {listed(known, joint='and')}"
    elif not hint:
        hint = ", which has no run"
    return Found(message=f"`{reference}` is neither a run's folder nor a run in `{place}`{hint}")
