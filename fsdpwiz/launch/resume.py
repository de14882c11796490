"""Whether a changed plan can go on from a run's checkpoint: judged before anything starts."""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.plan import resume
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import latest_checkpoint, manifest_of
from fsdpwiz.runs.layout import RunFolder


def resume_problems(plan: Plan, run: RunFolder) -> tuple[Problem, ...]:
    """What of `plan` the run's latest complete checkpoint cannot follow; nothing where there is none."""
    checkpoint = latest_checkpoint(run)
    if checkpoint is None:
        return ()
    manifest = manifest_of(checkpoint)
    return tuple(resume.resume_problems(plan, manifest, checkpoint=checkpoint.name, run=str(run.root)))
