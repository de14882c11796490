"""What of a plan a checkpoint cannot follow, from the checkpoint's manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fsdpwiz.core.problem import Problem
from fsdpwiz.plan.types import Plan

_FSDP = ("FSDP1", "FSDP2")


def state_dict_type(plan: Plan) -> str | None:
    """The state-dict type of the plan's FSDP; None outside FSDP."""
    if plan.world.distributed_type not in _FSDP:
        return None
    return str((plan.fsdp or {}).get("state_dict_type", "SHARDED_STATE_DICT"))


def resume_problems(
    plan: Plan, manifest: Mapping[str, Any] | None, *, checkpoint: str, run: str
) -> Iterator[Problem]:
    """Problems of going on under `plan` from the checkpoint of that name; each has `saved` and `planned`.

    Codes I009, I011, I012, I022, I030 and I031. A manifest of None asks the plan alone.
    """
    for code, key, saved, planned in _differences(plan, manifest):
        detail = {"checkpoint": checkpoint, "saved": saved, "planned": planned, "run": run}
        yield Problem(code=code, key=key, detail=detail)


def _differences(plan: Plan, manifest: Mapping[str, Any] | None) -> Iterator[tuple[str, str, Any, Any]]:
    if plan.world.distributed_type == "FSDP1" and state_dict_type(plan) == "SHARDED_STATE_DICT":
        yield "I022", "fsdp.state_dict_type", "SHARDED_STATE_DICT", "SHARDED_STATE_DICT"
    if manifest is None:
        return
    yield from _layout(plan, manifest)
    yield from _trained(plan, manifest)
    if manifest.get("global_batch_size") not in (None, plan.batch.global_):
        yield "I031", "global_batch_size", manifest["global_batch_size"], plan.batch.global_


def _layout(plan: Plan, manifest: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """FSDP or not, its version, its state-dict type: how the files of the checkpoint are laid out."""
    kind, before = plan.world.distributed_type, manifest.get("distributed_type")
    if before is None:
        return
    if (kind in _FSDP) != (before in _FSDP):
        yield "I011", "fsdp", before, kind
    elif kind == "FSDP2" and before == "FSDP1":
        return  # read by name, whatever the state-dict types are
    elif kind in _FSDP and kind != before:
        yield "I012", "fsdp.version", before, kind
    elif manifest.get("state_dict_type") != state_dict_type(plan):
        yield "I009", "fsdp.state_dict_type", manifest.get("state_dict_type"), state_dict_type(plan)


def _trained(plan: Plan, manifest: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """What is trained: model, method, adapter, quantisation."""
    model = manifest.get("model")
    before = model if isinstance(model, Mapping) else {}
    for name, value in (("name_or_path", plan.model.name_or_path), ("revision", plan.model.revision)):
        if name in before and before[name] != value:
            yield "I030", f"model.{name}", before[name], value
    for key in ("method", "peft", "quantization"):
        if key in manifest and manifest[key] != getattr(plan, key):
            yield "I030", key, manifest[key], getattr(plan, key)
