"""How weights reach the ranks, and how checkpoints are written: defaults by what exists there."""

from __future__ import annotations

from typing import Any, Literal

from fsdpwiz.plan.choices import OURS, Choices
from fsdpwiz.plan.types import CheckpointPlan, DistributedType

Loading = Literal["streaming", "rank0", "every_rank"]
_LOADING: dict[str, Loading] = {"streaming": "streaming", "rank0": "rank0", "every_rank": "every_rank"}


def decide_loading(choices: Choices, kind: DistributedType, device: str, world_size: int) -> Loading:
    """`rank0` under FSDP, `every_rank` where there is nothing to send: one process, DDP, FSDP1 on CPU."""
    from_rank0 = world_size > 1 and (kind == "FSDP2" or (kind == "FSDP1" and device == "cuda"))
    chosen = choices.choose("model.loading", "rank0" if from_rank0 else "every_rank", by=f"{OURS}: {kind}")
    return _LOADING.get(str(chosen), "every_rank")


def loading_flags(choices: Choices, fsdp: dict[str, Any] | None, loading: Loading) -> dict[str, Any] | None:
    """`fsdp` with the two keys that follow from `model.loading`."""
    if fsdp is None:
        return None
    from_rank0 = loading == "rank0"
    names = ["cpu_ram_efficient_loading", *(["sync_module_states"] if fsdp["version"] == 1 else [])]
    flags = {name: choices.derive(f"fsdp.{name}", from_rank0, "model.loading") for name in names}
    return {**fsdp, **flags}


def decide_checkpoint(choices: Choices) -> CheckpointPlan:
    """When to save stays the trainer's own settings; this is how."""
    mode = choices.choose("checkpoint.mode", "sync", by=OURS)
    return CheckpointPlan(
        mode="async" if mode == "async" else "sync",
        staging_gb=choices.choose("checkpoint.staging_gb", None, by=OURS),
        export_dtype=choices.choose("checkpoint.export_dtype", None, by=f"{OURS}: the base model's"),
    )
