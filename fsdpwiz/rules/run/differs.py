"""The sentence on a checkpoint that was saved under another setting than the plan has."""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal


def differs(problem: Problem, what: str) -> Found:
    """`detail` has checkpoint (its name), saved and planned (the two values)."""
    detail = problem.detail
    saved, planned = literal(detail.get("saved")), literal(detail.get("planned"))
    return Found(
        message=f"`{literal(detail.get('checkpoint'))}` was saved with {what} `{saved}`, the plan has "
        f"`{planned}`, and a checkpoint cannot follow that; set `{problem.key}` back or start a new run",
        key=problem.key,
    )
