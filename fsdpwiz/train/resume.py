"""Which checkpoint an attempt goes on from, and whether it can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding, Quantity
from fsdpwiz.core.problem import Problem
from fsdpwiz.plan.resume import resume_problems
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import latest_checkpoint, manifest_of
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train import stored

# The command has judged a resume before it starts the ranks: these are for a trainer started by hand.
_REFUSED = {
    "I009": "resume-across-state-dict-types",
    "I011": "resume-across-fsdp",
    "I012": "resume-across-fsdp-versions",
    "I022": "fsdp1-sharded-resume-loses-optimizer",
    "I030": "resume-with-another-model",
}


def checkpoint_to_resume(plan: Plan, folder: RunFolder, attempt: int) -> Path | None:
    """The latest checkpoint of the run for a later attempt; None where the training begins anew.

    Raises FsdpwizError for one that the plan cannot follow, or that is not sound (I032).
    """
    checkpoint = latest_checkpoint(folder) if attempt > 1 else None
    if checkpoint is None:
        return None
    findings = tuple(refusals(plan, checkpoint))
    if findings:
        raise FsdpwizError(*findings)
    stored.check(checkpoint)
    return checkpoint


def refusals(plan: Plan, checkpoint: Path) -> Iterator[Finding]:
    """Why `checkpoint` cannot be gone on from under `plan`."""
    run = str(checkpoint.parent.parent)
    for problem in resume_problems(plan, manifest_of(checkpoint), checkpoint=checkpoint.name, run=run):
        if problem.code in _REFUSED:
            yield _finding(problem, checkpoint)


def _finding(problem: Problem, checkpoint: Path) -> Finding:
    saved, planned = problem.detail["saved"], problem.detail["planned"]
    return Finding(
        code=problem.code,
        name=_REFUSED[problem.code],
        severity="error",
        message=(
            f"`{checkpoint.name}` was saved with `{problem.key}` {saved}, the plan has {planned}, and the "
            f"checkpoint cannot follow that; `fsdpwiz explain {problem.code}` says why and what to do"
        ),
        key=problem.key,
        evidence=(
            Quantity(
                name=str(problem.key), value={"checkpoint": saved, "plan": planned}, source=str(checkpoint)
            ),
        ),
    )
