"""How weights reach the ranks, and how checkpoints are written: defaults by what exists there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fsdpwiz.plan.choices import OURS, Choices
from fsdpwiz.plan.live_shards import changes_between_steps, not_streamable
from fsdpwiz.plan.types import CheckpointPlan, DistributedType

Loading = Literal["streaming", "rank0", "every_rank"]
_LOADING: dict[str, Loading] = {"streaming": "streaming", "rank0": "rank0", "every_rank": "every_rank"}


def decide_loading(choices: Choices, kind: DistributedType, device: str, world_size: int) -> Loading:
    """`streaming` under FSDP2, `rank0` under FSDP1 on GPUs, `every_rank` where there is nothing to send."""
    default: Loading = "every_rank"
    by = f"{OURS}: {kind}"
    if kind == "FSDP2":
        reason = not_streamable(choices.given)
        default = "streaming" if reason is None else ("rank0" if world_size > 1 else "every_rank")
        by = by if reason is None else f"{by}, not streamed: {reason}"
    elif kind == "FSDP1" and device == "cuda" and world_size > 1:
        default = "rank0"
    chosen = choices.choose("model.loading", default, by=by)
    return _LOADING.get(str(chosen), "every_rank")


def loading_flags(choices: Choices, fsdp: dict[str, Any] | None, loading: Loading) -> dict[str, Any] | None:
    """`fsdp` with the two keys that follow from `model.loading`."""
    if fsdp is None:
        return None
    from_rank0 = loading in ("rank0", "streaming")
    names = ["cpu_ram_efficient_loading", *(["sync_module_states"] if fsdp["version"] == 1 else [])]
    flags = {name: choices.derive(f"fsdp.{name}", from_rank0, "model.loading") for name in names}
    return {**fsdp, **flags}


def decide_checkpoint(
    choices: Choices, kind: DistributedType, fsdp: Mapping[str, Any] | None, optimizer: str
) -> CheckpointPlan:
    """When to save stays the trainer's own settings; this is how: `async` for FSDP2's shards."""
    shards = kind == "FSDP2" and (fsdp or {}).get("state_dict_type") == "SHARDED_STATE_DICT"
    default = "async" if shards and not changes_between_steps(optimizer) else "sync"
    mode = choices.choose("checkpoint.mode", default, by=f"{OURS}: {kind}")
    return CheckpointPlan(
        mode="async" if mode == "async" else "sync",
        staging_gb=choices.choose("checkpoint.staging_gb", None, by=OURS),
        export_dtype=choices.choose("checkpoint.export_dtype", None, by=f"{OURS}: the base model's"),
    )
