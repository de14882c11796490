"""Which checkpoint an attempt goes on from, and whether it can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
        key = f"{plan.method}.resume_from_checkpoint"
        yield _finding("I023", "checkpoint-not-found", f"`{checkpoint}` is no checkpoint folder", key)
        return
    if plan.world.distributed_type == "FSDP1" and state_dict_type(plan) == "SHARDED_STATE_DICT":
        yield _finding(
            "I022",
            "fsdp1-sharded-resume-loses-optimizer",
            f"`{checkpoint.name}` was saved under FSDP1 as SHARDED_STATE_DICT, and Accelerate 1.15 resumes "
            "that with an empty optimizer, without an error: start anew with `fsdp.version: 2`, or on GPUs "
            "with `fsdp.state_dict_type: FULL_STATE_DICT`; `fsdpwiz export` makes a model of the checkpoint",
            "fsdp.state_dict_type",
        )
    if manifest is not None:
        for difference in _differences(plan, manifest):
            yield difference.finding(checkpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """Something that a checkpoint is bound to and the plan has otherwise."""

    code: str
    name: str
    what: str
    saved: Any
    planned: Any
    key: str

    def finding(self, checkpoint: Path) -> Finding:
        return _finding(
            self.code,
            self.name,
            f"`{checkpoint.name}` was saved with {self.what} {self.saved}, the plan has {self.planned}, and "
            f"a checkpoint cannot follow that: set `{self.key}` back, or start a new run",
            self.key,
            Quantity(
                name=self.what,
                value={"checkpoint": self.saved, "plan": self.planned},
                source=str(checkpoint),
            ),
        )


def _differences(plan: Plan, manifest: dict[str, Any]) -> Iterator[_Difference]:
    yield from _layout(plan, manifest)
    for section in ("peft", "quantization"):
        saved, planned = manifest.get(section), getattr(plan, section)
        if saved != planned:
            yield _Difference(
                code="I030",
                name="resume-with-another-model",
                what=f"`{section}`",
                saved=saved,
                planned=planned,
                key=section,
            )


def _layout(plan: Plan, manifest: dict[str, Any]) -> Iterator[_Difference]:
    kind, before = plan.world.distributed_type, str(manifest.get("distributed_type"))
    types = {"saved": before, "planned": kind}
    if (kind in _SHARDED_KINDS) != (before in _SHARDED_KINDS):
        yield _Difference(
            code="I011", name="resume-across-fsdp", what="distributed type", key="fsdp", **types
        )
    elif kind in _SHARDED_KINDS and kind != before:
        yield _Difference(
            code="I012", name="resume-across-fsdp-versions", what="FSDP version", key="fsdp.version", **types
        )
    elif manifest.get("state_dict_type") != state_dict_type(plan):
        yield _Difference(
            code="I009",
            name="resume-across-state-dict-types",
            what="state-dict type",
            saved=manifest.get("state_dict_type"),
            planned=state_dict_type(plan),
            key="fsdp.state_dict_type",
        )


def _finding(code: str, name: str, message: str, key: str, *evidence: Quantity) -> Finding:
    return Finding(code=code, name=name, severity="error", message=message, key=key, evidence=evidence)
