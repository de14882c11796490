"""Whether a changed plan can go on from a run's checkpoint: judged before anything starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fsdpwiz.core.problem import Problem
from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import latest_checkpoint, manifest_of
from fsdpwiz.runs.layout import RunFolder

_FSDP = ("FSDP1", "FSDP2")


def resume_problems(plan: Plan, run: RunFolder) -> tuple[Problem, ...]:
    """What of `plan` the run's latest complete checkpoint cannot follow; nothing where there is none."""
    checkpoint = latest_checkpoint(run)
    if checkpoint is None:
        return ()
    return tuple(_problems(plan, checkpoint, manifest_of(checkpoint)))


def _problems(plan: Plan, checkpoint: Path, manifest: Mapping[str, Any] | None) -> Iterator[Problem]:
    kind = plan.world.distributed_type
    if kind == "FSDP1" and _state_dict_type(plan) == "SHARDED_STATE_DICT":
        yield _problem("I022", "fsdp.state_dict_type", checkpoint, "SHARDED_STATE_DICT", "SHARDED_STATE_DICT")
    if manifest is None:
        return
    yield from _layout_problems(plan, checkpoint, manifest)
    model = manifest.get("model")
    before = model if isinstance(model, Mapping) else {}
    now = {"name_or_path": plan.model.name_or_path, "revision": plan.model.revision}
    for key, value in now.items():
        if key in before and before[key] != value:
            yield _problem("I030", f"model.{key}", checkpoint, before[key], value)
    whole = {"method": plan.method, "peft": plan.peft, "quantization": plan.quantization}
    for key, planned in whole.items():
        if key in manifest and manifest[key] != planned:
            yield _problem("I030", key, checkpoint, manifest[key], planned)


def _layout_problems(plan: Plan, checkpoint: Path, manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """FSDP or not, its version, its state-dict type: how the files of the checkpoint are laid out."""
    kind, before = plan.world.distributed_type, manifest.get("distributed_type")
    if before is None:
        return
    if (kind in _FSDP) != (before in _FSDP):
        yield _problem("I011", "fsdp", checkpoint, before, kind)
    elif kind in _FSDP and kind != before:
        yield _problem("I012", "fsdp.version", checkpoint, before, kind)
    elif manifest.get("state_dict_type") != _state_dict_type(plan):
        saved = manifest.get("state_dict_type")
        yield _problem("I009", "fsdp.state_dict_type", checkpoint, saved, _state_dict_type(plan))


def _state_dict_type(plan: Plan) -> str | None:
    if plan.world.distributed_type not in _FSDP:
        return None
    return str((plan.fsdp or {}).get("state_dict_type", "SHARDED_STATE_DICT"))


def _problem(code: str, key: str, checkpoint: Path, saved: Any, planned: Any) -> Problem:
    run = str(checkpoint.parent.parent)
    detail = {"checkpoint": checkpoint.name, "saved": saved, "planned": planned, "run": run}
    return Problem(code=code, key=key, detail=detail)
