"""Less free disk than the checkpoints and the exported model need

## What

The file system of `output_dir` has less free space than the exported model and one checkpoint need. The
bound is from below: parameters from the model's config; the export at its dtype; a checkpoint at 12 bytes
per trained parameter with AdamW under mixed precision (fp32 weights and two moments). Where one checkpoint
fits, but not all that the run keeps (`sft.save_total_limit`, else one for each save up to `sft.max_steps`),
it is a warning. After a launch that failed: what is left of the file system that ran full.

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

import math
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
_SAVE_STEPS = 500


def word(problem: Problem) -> Found:
    """`detail` has path and, as far as known, reason, free_bytes, total_bytes, full, no_inodes."""
    detail = problem.detail
    path, reason, free = detail.get("path") or "output_dir", detail.get("reason"), detail.get("free_bytes")
    total = detail.get("total_bytes")
    left = "" if free is None else f"{format_bytes(free)}{f' of {format_bytes(total)}' if total else ''} free"
    if reason and free is not None and not detail.get("full"):
        message = f"A file system ran full: {reason}; `{path}` has {left} now"
    else:
        words = (left, "its file system can hold no further file" if detail.get("no_inodes") else "", reason)
        message = f"`{path}` has too little free space: " + "; ".join(filter(None, words))
        message = message.removesuffix(": ")
    evidence = () if free is None else (_free(free, str(path)),)
    return Found(message=message, key="output_dir", evidence=evidence)


def check(disk: Disk, model: Model, plan: Plan) -> Iterator[Found]:
    parameters = parameter_count(model)
    if parameters is None:
        return
    export = parameters * BYTES.get(plan.checkpoint.export_dtype or "", dtype_bytes(model))
    checkpoint = _checkpoint_bytes(parameters, plan)
    kept = _checkpoints_kept(plan) if checkpoint else 0
    one_fits = disk.free_bytes >= export + checkpoint
    if one_fits and disk.free_bytes >= export + kept * checkpoint:
        return
    needed = f"{format_bytes(export)} for the model"
    if checkpoint and not one_fits:
        needed += f" and {format_bytes(checkpoint)} for a checkpoint"
    elif checkpoint:
        needed += f" and {format_bytes(kept * checkpoint)} for the {kept} checkpoints it keeps"
    yield Found(
        message=f"`{disk.path}` has {format_bytes(disk.free_bytes)} free; the run needs at least {needed}",
        key="output_dir",
        severity="warning" if one_fits else None,
        evidence=(
            _free(disk.free_bytes, str(disk.path)),
            Quantity(name="export", value=export, unit="B", source="parameters × bytes of the export dtype"),
            Quantity(name="checkpoint", value=checkpoint, unit="B", source="weights and AdamW moments"),
            Quantity(name="checkpoints kept", value=kept, source="steps, saves and the limit of the recipe"),
        ),
    )


def _free(free_bytes: int, path: str) -> Quantity:
    return Quantity(name="free", value=free_bytes, unit="B", source=path)


def _checkpoints_kept(plan: Plan) -> int:
    """The checkpoints that stay on the disk: the limit, else one for each save; 1 where neither is known."""
    limit, saves = plan.training.get("save_total_limit"), _saves(plan)
    known = [number for number in (limit, saves) if isinstance(number, int) and number > 0]
    return min(known, default=1)


def _saves(plan: Plan) -> int | None:
    """The saves up to `max_steps`; None where steps are not what ends or divides the run."""
    steps, every = plan.training.get("max_steps"), plan.training.get("save_steps", _SAVE_STEPS)
    if plan.training.get("save_strategy", "steps") != "steps" or not isinstance(steps, int) or steps <= 0:
        return None
    if not isinstance(every, int | float) or every <= 0:
        return None
    return max(1, steps // (math.ceil(steps * every) if every < 1 else int(every)))


def _checkpoint_bytes(parameters: int, plan: Plan) -> int:
    if plan.peft is not None or plan.training.get("save_strategy") == "no":
        return 0
    weight = BYTES.get(plan.model.trainable_dtype, 2)
    if not str(plan.training.get("optim") or "adamw_torch_fused").startswith("adamw_torch"):
        return parameters * weight
    moments = _MOMENT_BYTES_OF_ADAMW if weight == BYTES["float32"] else 2 * weight
    return parameters * (weight if plan.training.get("save_only_model") else weight + moments)
