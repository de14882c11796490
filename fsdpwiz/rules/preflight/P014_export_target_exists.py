"""The folder to export into exists

## What

The folder that `fsdpwiz export --out` names is there already.

## Why

Writing into it could mix two models, or overwrite the only copy of one.

## Example

    fsdpwiz export last --out model

## How to fix

Choose another folder, or give `--force` to replace it.

## When to ignore

Never: nothing was written.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "export-target-exists"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    target = problem.detail.get("target")
    return Found(
        message=(f"`{target}`" if target else "The folder") + " exists already; choose another with `--out`"
    )
