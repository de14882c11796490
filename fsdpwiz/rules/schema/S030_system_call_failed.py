"""The operating system refused something

## What

A file could not be opened, read or written, or another call of the operating system failed.

## Why

The command stopped there. Most often a path is wrong, a permission lacks, or a disk or quota is full.

## Example

    fsdpwiz render smollm2-135m-sft --out /root/files

## How to fix

Mend what the system's message says about the path that it names.

## When to ignore

Never.

## References

errno(3)
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "system-call-failed"
SEVERITY = "error"
STAGE = "command"


def word(problem: Problem) -> Found:
    message, path = problem.detail.get("message") or "the system gave no reason", problem.detail.get("path")
    return Found(message=f"`{path}`: {message}" if path else f"The system refused it: {message}")
