"""A package that the run needs is not installed

## What

The base install of fsdpwiz has no torch. Training needs the extra `train`, a quantised base the extra
`quant`.

## Why

The launch would fail in every rank with an ImportError; `run` ends with exit code 2 before it writes
anything. Login nodes and laptops need neither to validate, render and explain.

## Example

    pip install fsdpwiz
    fsdpwiz run smollm2-135m-sft

## How to fix

    pip install 'fsdpwiz[train]'
    pip install 'fsdpwiz[train,quant]'

## When to ignore

When `cluster` or `script` brings its own environment.

## References

`pyproject.toml`, optional dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Software
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import listed

NAME = "extra-missing"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "info"
EXIT = 2

_TRAIN = ("torch", "accelerate", "transformers", "trl", "datasets")


def word(problem: Problem) -> Found:
    extra = str(problem.detail.get("extra", "train"))
    return _found(
        extra, tuple(problem.detail.get("missing", ())), str(problem.detail.get("for", "This command"))
    )


def check(software: Software, plan: Plan) -> Iterator[Found]:
    needed: dict[str, tuple[str, ...]] = {"train": _TRAIN if plan.peft is None else (*_TRAIN, "peft")}
    if plan.quantization is not None:
        needed["quant"] = ("bitsandbytes",)
    for extra, packages in needed.items():
        missing = tuple(name for name in packages if name not in software.versions)
        if missing:
            yield _found(extra, missing, "The run")


def _found(extra: str, missing: tuple[str, ...], who: str) -> Found:
    lacks = f": {listed(missing, joint='and')} not installed" if missing else ""
    return Found(
        message=f"{who} needs `fsdpwiz[{extra}]`{lacks}; install it with `pip install 'fsdpwiz[{extra}]'`",
        fixes=(Fix(title=f"install the extra `{extra}`", commands=(f"pip install 'fsdpwiz[{extra}]'",)),),
    )
