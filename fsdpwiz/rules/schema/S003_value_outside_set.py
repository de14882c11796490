"""A value outside the set of its key

## What

A value that is not one of those its key may have.

## Why

Upstream looks most of these words up in an enum only inside each rank, so a bad one fails after the queue and the
model download, once per rank. The help text of Accelerate even lists a `NO_RESHARD` that does not exist.

## Example

    fsdp:
      version: 1
      sharding_strategy: FULL

## How to fix

Use one of the values that the message lists.

## When to ignore

Never: every rank would fail.

## References

torch, `ShardingStrategy`; Accelerate, `FullyShardedDataParallelPlugin`.
"""

from __future__ import annotations

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import listed, literal

NAME = "value-outside-set"
SEVERITY = "error"

_LONG_FORMS = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "fp32": "no",
    "float32": "no",
    "none": "no",
    "false": "no",
}


def word(problem: Problem) -> Found:
    detail = problem.detail
    legal = tuple(detail.get("legal") or ())
    nearest = detail.get("nearest") or _long_form(problem)
    message = (
        f"`{problem.key}` is `{literal(detail.get('got'))}`, which is not {listed(legal) or 'a legal value'}"
    )
    if nearest is None:
        return Found(message=message)
    fix = Fix(
        title=f"set `{problem.key}` to `{literal(nearest)}`",
        edits={str(problem.key): nearest},
        safety="unsafe",
    )
    return Found(message=message, fixes=(fix,))


def _long_form(problem: Problem) -> str | None:
    if problem.key != "mixed_precision":
        return None
    return _LONG_FORMS.get(literal(problem.detail.get("got")).lower())
