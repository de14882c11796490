"""Whether a changed plan can go on from a run's checkpoint: judged before anything starts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from fsdpwiz.core.problem import Problem
from fsdpwiz.plan import resume
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import complete_checkpoints, latest_checkpoint, manifest_of, step_of
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.soundness import why_unsound
from fsdpwiz.runs.state import read_state

_STATE_LIMIT_BYTES = 100_000_000


def resume_problems(plan: Plan, run: RunFolder) -> tuple[Problem, ...]:
    """What of `plan` the run's latest complete checkpoint cannot follow; nothing where there is none."""
    checkpoint = latest_checkpoint(run)
    if checkpoint is None:
        return ()
    manifest = manifest_of(checkpoint)
    differing = resume.resume_problems(plan, manifest, checkpoint=checkpoint.name, run=str(run.root))
    return (*_unsound(run, checkpoint), *differing)


def ended(plan: Plan, run: RunFolder) -> Problem | None:
    """I033 where the run has been trained to the plan's last step and left a model; else None."""
    checkpoint = latest_checkpoint(run)
    step = None if checkpoint is None else step_of(checkpoint)
    if plan.script is not None or checkpoint is None or step is None or read_state(run).state != "finished":
        return None
    steps = _planned_steps(plan, run, checkpoint)
    model = run.adapter if plan.peft is not None and run.adapter.is_dir() else run.model
    if steps is None or step < steps or not model.is_dir():
        return None
    return Problem(code="I033", detail={"step": step, "steps": steps, "model": str(model)})


def _unsound(run: RunFolder, checkpoint: Path) -> tuple[Problem, ...]:
    reason = why_unsound(checkpoint)
    if reason is None:
        return ()
    before = reversed(complete_checkpoints(run)[:-1])
    older = next((one.name for one in before if why_unsound(one) is None), None)
    detail = {"checkpoint": checkpoint.name, "reason": reason, "older": older, "path": str(checkpoint)}
    return (Problem(code="I032", detail=detail),)


def _planned_steps(plan: Plan, run: RunFolder, checkpoint: Path) -> int | None:
    """The steps of the whole training: the plan's, else those the trainer counted from the same epochs."""
    steps = plan.training.get("max_steps")
    if isinstance(steps, int) and steps > 0:
        return steps
    before = _former_plan(run)
    counted = _trainer_state(checkpoint).get("max_steps")
    same = before is not None and all(
        getattr(before, name) == getattr(plan, name) for name in ("training", "data", "batch", "model")
    )
    return counted if same and isinstance(counted, int) and counted > 0 else None


def _former_plan(run: RunFolder) -> Plan | None:
    try:
        return Plan.read(run.plan)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def _trainer_state(checkpoint: Path) -> dict[str, Any]:
    try:
        path = checkpoint / "trainer_state.json"
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            document = json.loads(stream.read(_STATE_LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
