"""A value of the wrong type

## What

A value of the recipe that is not of the type that its key takes, e.g. text where a number belongs.

## Why

Upstream converts some values and mistakes others: a rank that reads `"False"` takes it for true, and `1e8` fails in
`int()` after the queue and the download.

## Example

    sft:
      max_steps: "many"

## How to fix

Write the value as the message says. Note that YAML reads `1e-5` as text and `1.0e-5` as a number, and `no` unquoted as
false in some readers.

## When to ignore

Never: nothing can be planned with it.

## References

`fsdpwiz schema` gives the type of every key.
"""

from __future__ import annotations

from typing import Any

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import leaf, literal

NAME = "wrong-type"
SEVERITY = "error"

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_CLASSES = "transformer_layer_cls_to_wrap"


def word(problem: Problem) -> Found:
    expected = str(problem.detail.get("expected") or "")
    wanted = f"; it must be {expected}" if expected else ""
    if "got" not in problem.detail:
        return Found(message=f"`{problem.key}` has a value of the wrong type{wanted}")
    got = problem.detail["got"]
    value = _meant(problem.key, got, expected)
    fix = Fix(
        title=f"set `{problem.key}` to `{literal(value)}`", edits={str(problem.key): value}, safety="safe"
    )
    return Found(
        message=f"`{problem.key}` is `{literal(got)}`, a value of the wrong type{wanted}",
        fixes=(fix,) if value is not None else (),
    )


def _meant(key: str | None, got: Any, expected: str) -> Any:
    """The value of the right type that `got` plainly stands for, else None."""
    if isinstance(got, str) and "true" in expected:
        return _BOOLEANS.get(got.lower())
    if isinstance(got, float) and got.is_integer() and "whole number" in expected:
        return int(got)
    if leaf(key) == _CLASSES and isinstance(got, list):
        return ",".join(str(name) for name in got)
    return None
