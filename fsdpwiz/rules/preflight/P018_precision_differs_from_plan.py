"""The ranks do not hold the planned precision

## What

After preparation, and again at the first optimizer step, every rank looks at the dtypes that trained weights,
frozen weights, gradients, optimizer states and the reduction really have. One of them is not the plan's.

## Why

Upstream has changed it silently more than once: one version of Accelerate left the master weights of FSDP2
in 16 bits although it said that it had upcast them. A training whose optimizer works in 16 bits loses every
update smaller than about a thousandth of a weight: the loss does not fall, and nothing says why.

## Example

    planned float32, found bfloat16

## How to fix

Launch with `fsdpwiz run`, which sets what upstream reads. Compare the installed versions with those the
release was tested with. `attempts/N/precision.json` in the run folder has all that was found.

## When to ignore

Never: the run has stopped.

## References

accelerate, `utils/fsdp_utils.py`: `fsdp2_prepare_model`; accelerate issue 3979; `docs/concepts/precision.md`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "precision-differs-from-plan"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    detail = problem.detail
    rank = detail.get("rank")
    who = f"Rank {rank}" if isinstance(rank, int) else "A rank"
    what = detail.get("what") or "a dtype"
    expected, got = literal(detail.get("expected")), literal(detail.get("got"))
    return Found(
        message=f"{who} does not hold the planned precision, {what}: the plan says {expected}, it is {got}",
        key="mixed_precision",
        rank=rank if isinstance(rank, int) else None,
    )
