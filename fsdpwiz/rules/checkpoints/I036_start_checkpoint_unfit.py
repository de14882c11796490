"""The run cannot start from the named checkpoint

## What

`sft.resume_from_checkpoint` names a checkpoint that this run cannot take: it is not there or not readable,
the run is not under FSDP2, or its tensors are not those of this model.

## Why

Only FSDP2's shards can be filled by name from a checkpoint of any layout: of FSDP1, sharded or in one file
(`pytorch_model_fsdp.bin`), of Accelerate, of the Trainer, or a plain model folder. Other worlds read what
they have written themselves and nothing else.

## Example

    fsdp: null
    sft: {resume_from_checkpoint: runs/before/checkpoints/step-400}

## How to fix

Name a checkpoint folder of this very model (or a run folder, for its latest one) and train it under FSDP2.
To go on with a run of fsdpwiz leave the key out: `fsdpwiz run --resume RUN`. To begin from weights alone in
another world name their folder in `model.name_or_path`.

## When to ignore

Never: the run would not start.

## References

`docs/concepts/checkpoints.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "start-checkpoint-unfit"
SEVERITY = "error"


def word(problem: Problem) -> Found:
    path = literal(problem.detail.get("path"))
    reason = problem.detail.get("reason") or "it is no folder"
    return Found(message=f"The run cannot start from `{path}`: {reason}", key=problem.key)


def check(plan: Plan) -> Iterator[Found]:
    given = plan.training.get("resume_from_checkpoint")
    kind = plan.world.distributed_type
    if not given or kind == "FSDP2":
        return
    key = f"{plan.method}.resume_from_checkpoint"
    fixes = (
        Fix(title="train under FSDP2", edits={"fsdp.version": 2}, safety="manual"),
        Fix(title="start without it", edits={key: None}, safety="manual"),
    )
    said = "without FSDP" if kind in ("NO", "DDP") else f"under {kind}"
    yield Found(
        message=f"The run cannot start from `{literal(given)}`: only FSDP2 takes a checkpoint of any layout, "
        f"and this run is {said}",
        key=key,
        fixes=fixes if kind == "FSDP1" else fixes[1:],
    )
