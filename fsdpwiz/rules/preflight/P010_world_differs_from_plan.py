"""The ranks are not in the world that the plan describes

## What

Before the first step every rank compares the world it is in with the plan: world size, whether FSDP is
really on, how many units it wrapped, the dtype of what is trained. One of them differs.

## Why

Accelerate falls back silently: ranks that do not find each other train alone, each thinking it is the main
one, and a CPU run with an FSDP file becomes plain DDP. The result would be wrong and nobody would know.

## Example

    torchrun --nproc-per-node 2 -m fsdpwiz.train plan.json     # without the rendered environment

## How to fix

Launch with `fsdpwiz run`, or with the complete line and environment that `fsdpwiz render` shows. On several
nodes check that all were started with the same `--main-address` and distinct `--node-rank`.

## When to ignore

Never: the run has stopped.

## References

accelerate, `state.py`: `AcceleratorState` chooses the distributed type from the environment.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "world-differs-from-plan"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    detail = problem.detail
    what = detail.get("what") or "the world"
    rank = detail.get("rank")
    who = f"Rank {rank}" if isinstance(rank, int) else "A rank"
    differs = f": the plan says {literal(detail.get('expected'))}, it is {literal(detail.get('got'))}"
    return Found(
        message=f"{who} is not in the planned world, {what} differs"
        + (differs if "expected" in detail else ""),
        rank=rank if isinstance(rank, int) else None,
    )
