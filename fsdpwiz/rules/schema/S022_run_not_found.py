"""No run of that name

## What

The argument is neither a run folder, nor `last`, nor the name of a run below the output folder.

## Why

Nothing can be done without the run; the command ends with exit code 2.

## Example

    fsdpwiz export smollm2-135m-sftt

## How to fix

`fsdpwiz runs` lists the runs. A run is named by its folder, its NAME (then the latest of it), or `last`.

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
EXIT = 2


def word(problem: Problem) -> Found:
    detail = problem.detail
    near = detail.get("nearest") or ()
    known = detail.get("known") or ()
    where = f" in `{literal(detail['output_dir'])}`" if detail.get("output_dir") else ""
    hint = (
        f"the nearest is {listed(near)}"
        if near
        else f"there are {listed(known, joint='and')}"
        if known
        else "there is none"
    )
    return Found(message=f"`{literal(detail.get('reference'))}` is no run{where}; {hint}")
