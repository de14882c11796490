"""A key that no part knows

## What

A key of the recipe that neither fsdpwiz nor the installed version of the upstream section has.

## Why

Accelerate accepts any key inside its sections and ignores it, so a misspelt setting trains with the default.
A recipe is read strictly at every depth instead.

## Example

    sft:
      max_lenght: 2048

## How to fix

Take the nearest legal name from the message, or move the key to the section that has it. `fsdpwiz schema` prints all.

## When to ignore

Never: the key has no effect. Remove it instead.

## References

Accelerate, `utils/launch.py`: unknown keys of `fsdp_config` are passed over.
"""

from __future__ import annotations

from typing import Any

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.schema.renamed_keys import RENAMED
from fsdpwiz.rules.wording import leaf, listed, section

NAME = "unknown-key"
SEVERITY = "error"


def word(problem: Problem) -> Found:
    key = problem.key or ""
    where = f"`{section(key)}`" if section(key) else "a recipe"
    target, hint = _remedy(problem)
    return Found(message=f"`{key}` is not a key of {where}{hint}", fixes=_rename(key, target, problem))


def _remedy(problem: Problem) -> tuple[str | None, str]:
    key, detail = problem.key or "", problem.detail
    if key in RENAMED:
        target, reason = RENAMED[key]
        return target, f"; use `{target}` ({reason})" if target else f" any more: {reason}"
    if target := _elsewhere(key, detail.get("elsewhere")):
        return target, f"; it is one of `{section(target) or 'the top level'}`: `{target}`"
    prefix = f"{section(key)}_"
    bare = leaf(key).removeprefix(prefix)
    legal = tuple(detail.get("legal") or ())
    nearest = bare if bare != leaf(key) and bare in legal else detail.get("nearest")
    if nearest:
        return f"{section(key)}.{leaf(nearest)}".lstrip("."), f"; the nearest is `{leaf(nearest)}`"
    return None, f"; it has {listed(legal, joint='and')}" if legal else ""


def _elsewhere(key: str, elsewhere: Any) -> str | None:
    first = elsewhere[0] if isinstance(elsewhere, (list, tuple)) and elsewhere else elsewhere
    if not isinstance(first, str) or not first:
        return None
    return first if leaf(first) == leaf(key) else f"{first}.{leaf(key)}"


def _rename(key: str, target: str | None, problem: Problem) -> tuple[Fix, ...]:
    if target is None or "got" not in problem.detail:
        return ()
    return (
        Fix(
            title=f"rename `{key}` to `{target}`",
            edits={key: None, target: problem.detail["got"]},
            safety="unsafe",
        ),
    )
