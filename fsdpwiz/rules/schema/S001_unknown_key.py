"""A key that no part knows

## What

A key of the recipe that neither fsdpwiz nor the installed version of the upstream section has.

## Why

Accelerate accepts any key inside its sections and ignores it, so a misspelt setting trains with the
default. A recipe is read strictly at every depth instead.

## Example

    sft:
      max_lenght: 2048

## How to fix

Take the nearest legal name from the message, or move the key to the section that has it. `fsdpwiz schema`
prints all.

## When to ignore

Never: the key has no effect. Remove it instead.

## References

Accelerate, `utils/launch.py`: unknown keys of `fsdp_config` are passed over.
"""

from __future__ import annotations

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.schema.removed_keys import REMOVED
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
    if reason := detail.get("reason"):
        return None, f": {reason}"
    if key in REMOVED:
        return None, f" any more: {REMOVED[key]}"
    nearest, elsewhere = detail.get("nearest"), tuple(detail.get("elsewhere") or ())
    if elsewhere:
        return elsewhere[0] if len(elsewhere) == 1 else None, f"; it belongs elsewhere: {listed(elsewhere)}"
    if nearest:
        return f"{section(key)}.{leaf(nearest)}".lstrip("."), f"; the nearest is `{leaf(nearest)}`"
    legal = tuple(detail.get("legal") or ())
    return None, f"; it has {listed(legal, joint='and')}" if legal else ""


def _rename(key: str, target: str | None, problem: Problem) -> tuple[Fix, ...]:
    if target is None or "got" not in problem.detail:
        return ()
    edits = {key: None, target: problem.detail["got"]}
    return (Fix(title=f"rename `{key}` to `{target}`", edits=edits, safety="unsafe"),)
