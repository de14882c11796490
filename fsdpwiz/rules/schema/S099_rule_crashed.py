"""A rule that failed

## What

A rule of fsdpwiz raised an exception, so what it looks for was not judged.

## Why

One broken rule must neither hide the others' findings nor pass for a clean result.

## Example

    A003 failed with KeyError: 'version'; what it checks was not judged

## How to fix

It is a fault of fsdpwiz: report it with the recipe. `--debug` shows the traceback.

## When to ignore

`ignore: {CODE: reason}` with the code of the rule that failed silences it until it is mended.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "rule-crashed"
SEVERITY = "warning"
STAGE = "command"


def word(problem: Problem) -> Found:
    code, error = problem.detail.get("code"), problem.detail.get("error")
    return Found(message=f"Rule {code} failed with {error}; what it checks was not judged")
