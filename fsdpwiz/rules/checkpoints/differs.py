"""The sentence on a checkpoint that was saved under another setting than the plan has."""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal


def differs(problem: Problem, what: str, key: str) -> Found:
    """`detail` may have checkpoint (its name), saved and planned (the two values)."""
    detail = problem.detail
    name = f"`{detail['checkpoint']}`" if "checkpoint" in detail else "The checkpoint"
    values = (
        f": {literal(detail['saved'])} there, {literal(detail.get('planned'))} here"
        if "saved" in detail
        else ""
    )
    key = problem.key or key
    return Found(
        message=f"{name} was saved with another {what}{values}; set `{key}` back or start a new run", key=key
    )
