"""Which checkpoint an attempt goes on from, and whether it can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding, Quantity
from fsdpwiz.core.problem import Problem
from fsdpwiz.plan.resume import resume_problems
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import complete_checkpoints, manifest_of
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train import stored
from fsdpwiz.train.checksums import DamagedError, check_contents, check_sizes
from fsdpwiz.train.export.ranks import Ranks

# The command has judged a resume before it starts the ranks: these are for a trainer started by hand.
_REFUSED = {
    "I009": "resume-across-state-dict-types",
    "I011": "resume-across-fsdp",
    "I012": "resume-across-fsdp-versions",
    "I022": "fsdp1-sharded-resume-loses-optimizer",
    "I030": "resume-with-another-model",
}


def checkpoint_to_resume(
    plan: Plan,
    folder: RunFolder,
    attempt: int,
    *,
    ranks: Ranks | None = None,
    notice: Callable[[Finding], None] | None = None,
) -> Path | None:
    """The latest sound checkpoint of the run for a later attempt, else the one that the recipe starts from.

    None where the training begins anew. `notice` is told of each that is passed over because it is damaged.
    Raises FsdpwizError for one that the plan cannot follow, and where there are checkpoints and none is sound
    (I032). Collective over `ranks`.
    """
    ranks = ranks or Ranks.here()
    checkpoints = ranks.from_first(lambda: complete_checkpoints(folder)) if attempt > 1 else []
    damaged: list[FsdpwizError] = []
    for checkpoint in reversed(checkpoints):
        findings = tuple(refusals(plan, checkpoint))
        if findings:
            raise FsdpwizError(*findings)
        try:
            ranks.agreed(lambda checkpoint=checkpoint: _require_sound(checkpoint, ranks))  # type: ignore[misc]
        except FsdpwizError as error:
            damaged.append(error)
            continue
        if notice is not None:
            for found in damaged:
                notice(_passed_over(found, checkpoint))
        return checkpoint
    if damaged:
        raise damaged[0]
    given = plan.training.get("resume_from_checkpoint")
    return None if not given else ranks.agreed(lambda: _start(plan, Path(str(given)), ranks))


def _start(plan: Plan, given: Path, ranks: Ranks) -> Path:
    """The checkpoint that the recipe starts from; FsdpwizError (I012, I036) where the plan cannot."""
    from fsdpwiz.train import starting

    if plan.world.distributed_type == "FSDP1":
        across = [finding for finding in refusals(plan, given) if finding.code == "I012"]
        if across:
            raise FsdpwizError(*across)
    folder = starting.start_folder(plan, str(given))
    _require_undamaged(folder, ranks)
    return folder


def _require_sound(checkpoint: Path, ranks: Ranks) -> None:
    """Raise FsdpwizError (I032) unless the checkpoint is undamaged, and a training can go on from it."""
    _require_undamaged(checkpoint, ranks)
    stored.check(checkpoint)


def _require_undamaged(checkpoint: Path, ranks: Ranks) -> None:
    """Raise FsdpwizError (I032) unless every listed file is what was written; each rank reads its share."""
    files = (manifest_of(checkpoint) or {}).get("files")
    if isinstance(files, dict):
        try:
            check_sizes(checkpoint, files)
            check_contents(checkpoint, files, part=ranks.rank, parts=ranks.size)
        except DamagedError as error:
            raise stored.unsound(checkpoint, str(error)) from error


def _passed_over(error: FsdpwizError, used: Path) -> Finding:
    (finding, *_) = error.findings
    message = f"{finding.message.partition('; ')[0]}; the training goes on from `{used.name}` instead"
    return replace(finding, severity="warning", message=message)


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
