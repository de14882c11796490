"""A value of the wrong type

## What

A value of the recipe that is not of the type that its key takes, e.g. text where a number belongs.

## Why

Upstream converts some values and mistakes others: a rank that reads `"False"` takes it for true, and `1e8`
fails in `int()` after the queue and the download.

## Example

    sft:
      max_steps: "many"

## How to fix

Write the value as the message says. Note that YAML reads `1e-5` as text and `1.0e-5` as a number, and `no`
unquoted as false in some readers.

## When to ignore

Never: nothing can be planned with it.

## References

`fsdpwiz schema` gives the type of every key.
"""

from __future__ import annotations

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "wrong-type"
SEVERITY = "error"


def word(problem: Problem) -> Found:
    detail = problem.detail
    wanted = f"; it must be {detail['expected']}" if detail.get("expected") else ""
    is_value = f" is {detail['got']}," if "got" in detail else " has"
    value = detail.get("suggestion")
    fix = Fix(
        title=f"set `{problem.key}` to `{literal(value)}`", edits={str(problem.key): value}, safety="safe"
    )
    return Found(
        message=f"`{problem.key}`{is_value} a value of the wrong type{wanted}",
        fixes=(fix,) if value is not None else (),
    )
