"""A value outside the set of its key

## What

A value that is not one of those its key may have.

## Why

Upstream looks most of these words up in an enum only inside each rank, so a bad one fails after the queue
and the model download, once per rank. The help text of Accelerate even lists a `NO_RESHARD` that does not
exist.

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
from fsdpwiz.rules.wording import listed, literal, section

NAME = "value-outside-set"
SEVERITY = "error"


def word(problem: Problem) -> Found:
    key, detail = str(problem.key), problem.detail
    legal = tuple(detail.get("legal") or ())
    subject = f"A name in `{section(key)}`" if detail.get("is_name") else f"`{key}`"
    message = f"{subject} is {detail.get('got')}; it must be {_words(legal)}"
    nearest = detail.get("nearest")
    if nearest is None:
        return Found(message=message)
    fix = Fix(title=f"set `{key}` to `{literal(nearest)}`", edits={key: nearest}, safety="unsafe")
    return Found(message=message, fixes=(fix,))


def _words(legal: tuple[object, ...]) -> str:
    """The choices; a range or a pattern comes as one choice in words."""
    if len(legal) == 1 and " " in str(legal[0]):
        return str(legal[0])
    return listed(legal) or "another value"
