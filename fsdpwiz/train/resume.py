"""Which checkpoint an attempt goes on from, and whether it can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding, Quantity
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import latest_checkpoint
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train.checkpoints import read_manifest, state_dict_type

_SHARDED_KINDS = ("FSDP1", "FSDP2")


def checkpoint_to_resume(plan: Plan, folder: RunFolder, attempt: int) -> Path | None:
    """The latest checkpoint of the run for a later attempt, else the one `resume_from_checkpoint` names.

    None where the training begins anew. Raises FsdpwizError for one that the plan cannot follow.
    """
    checkpoint = latest_checkpoint(folder) if attempt > 1 else None
    asked = plan.training.get("resume_from_checkpoint")
    if checkpoint is None and isinstance(asked, str):
        checkpoint = Path(asked).expanduser()
    if checkpoint is None:
        return None
    findings = tuple(refusals(plan, checkpoint, read_manifest(checkpoint)))
    if findings:
        raise FsdpwizError(*findings)
    return checkpoint


def refusals(plan: Plan, checkpoint: Path, manifest: dict[str, Any] | None) -> Iterator[Finding]:
    """Why `checkpoint` cannot be gone on from under `plan`; `manifest` None asks the plan alone."""
    if not checkpoint.is_dir():
        yield _finding("I023", "checkpoint-not-found", f"`{checkpoint}` is no folder", "sft.resume_from_checkpoint")
        return
    kind, saved_as = plan.world.distributed_type, state_dict_type(plan)
    if kind == "FSDP1" and saved_as == "SHARDED_STATE_DICT":
        yield _finding(
            "I022",
            "fsdp1-sharded-resume-loses-optimizer",
            f"`{checkpoint.name}` was saved under FSDP1 as SHARDED_STATE_DICT, and Accelerate 1.15 resumes that with "
            "an empty optimizer, without an error: start anew with `fsdp.version: 2`, or with `fsdp.state_dict_type: "
            "FULL_STATE_DICT` on GPUs; `fsdpwiz export` makes a model of the checkpoint",
            "fsdp.state_dict_type",
        )
    if manifest is not None:
        yield from _differences(plan, checkpoint, manifest)


def _differences(plan: Plan, checkpoint: Path, manifest: dict[str, Any]) -> Iterator[Finding]:
    kind, before = plan.world.distributed_type, str(manifest.get("distributed_type"))
    if (kind in _SHARDED_KINDS) != (before in _SHARDED_KINDS):
        yield _differs("I011", "resume-across-fsdp", checkpoint, "distributed type", before, kind, "fsdp")
    elif kind in _SHARDED_KINDS and kind != before:
        yield _differs("I012", "resume-across-fsdp-versions", checkpoint, "FSDP version", before, kind, "fsdp.version")
    elif manifest.get("state_dict_type") != state_dict_type(plan):
        saved, planned = manifest.get("state_dict_type"), state_dict_type(plan)
        yield _differs(
            "I009", "resume-across-state-dict-types", checkpoint, "state-dict type", saved, planned, "fsdp.state_dict_type"
        )
    for section in ("peft", "quantization"):
        saved, planned = manifest.get(section), getattr(plan, section)
        if saved != planned:
            yield _differs("I030", "resume-with-another-model", checkpoint, f"`{section}`", saved, planned, section)


def _differs(code: str, name: str, checkpoint: Path, what: str, saved: Any, planned: Any, key: str) -> Finding:
    return _finding(
        code,
        name,
        f"`{checkpoint.name}` was saved with {what} {saved}, the plan has {planned}, and a checkpoint cannot follow "
        f"that: set `{key}` back, or start a new run",
        key,
        Quantity(name=what, value={"checkpoint": saved, "plan": planned}, source=str(checkpoint)),
    )


def _finding(code: str, name: str, message: str, key: str, *evidence: Quantity) -> Finding:
    return Finding(code=code, name=name, severity="error", message=message, key=key, evidence=evidence)
