"""Less free disk than one checkpoint and the exported model

## What

The file system of `output_dir` has less free space than the exported model and one checkpoint need. The
bound is from below: parameters from the model's config; the export at its dtype; a checkpoint at 12 bytes
per trained parameter with AdamW under mixed precision (fp32 weights and two moments).

## Why

The run would train for hours and die in its first save, or at the export.

## Example

    output_dir: /tmp/runs

## How to fix

Free space, set `output_dir` to a larger file system, or keep fewer checkpoints with `sft.save_total_limit`.

## When to ignore

When the file system grows on demand.

## References

torch.distributed.checkpoint writes weights and optimizer state.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Quantity
from fsdpwiz.core.problem import Problem
from fsdpwiz.core.units import format_bytes
from fsdpwiz.facts.types import Disk, Model
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.sizes import BYTES, dtype_bytes, parameter_count

NAME = "disk-space"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "warning"

_MOMENT_BYTES_OF_ADAMW = 8


def word(problem: Problem) -> Found:
    path, reason = problem.detail.get("path") or "output_dir", problem.detail.get("reason")
    return Found(
        message=f"`{path}` has too little free space" + (f": {reason}" if reason else ""), key="output_dir"
    )


def check(disk: Disk, model: Model, plan: Plan) -> Iterator[Found]:
    parameters = parameter_count(model)
    if parameters is None:
        return
    export = parameters * BYTES.get(plan.checkpoint.export_dtype or "", dtype_bytes(model))
    checkpoint = _checkpoint_bytes(parameters, plan)
    if disk.free_bytes >= export + checkpoint:
        return
    parts = f"{format_bytes(export)} for the model"
    if checkpoint:
        parts += f" and {format_bytes(checkpoint)} for a checkpoint"
    yield Found(
        message=f"`{disk.path}` has {format_bytes(disk.free_bytes)} free; the run needs at least {parts}",
        key="output_dir",
        evidence=(
            Quantity(name="free", value=disk.free_bytes, unit="B", source=str(disk.path)),
            Quantity(name="export", value=export, unit="B", source="parameters × bytes of the export dtype"),
            Quantity(name="checkpoint", value=checkpoint, unit="B", source="weights and AdamW moments"),
        ),
    )


def _checkpoint_bytes(parameters: int, plan: Plan) -> int:
    if plan.peft is not None or plan.training.get("save_strategy") == "no":
        return 0
    weight = BYTES.get(plan.model.trainable_dtype, 2)
    if not str(plan.training.get("optim") or "adamw_torch_fused").startswith("adamw_torch"):
        return parameters * weight
    moments = _MOMENT_BYTES_OF_ADAMW if weight == BYTES["float32"] else 2 * weight
    return parameters * (weight if plan.training.get("save_only_model") else weight + moments)
