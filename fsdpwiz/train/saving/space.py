"""Whether the disk can take another checkpoint; asked by rank 0, answered to all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from fsdpwiz.core.units import format_bytes
from fsdpwiz.plan.types import Plan
from fsdpwiz.train.export.ranks import Ranks

SPARE_BYTES = 64 * 1024 * 1024


def shortage(folder: Path, trainer: Any, plan: Plan) -> str | None:
    """Why `folder` has no room for the state of now, the same words on every rank; None where it has."""
    ranks = Ranks.here(trainer.accelerator.device)
    needed_bytes = _summed(_trained_bytes(trainer), ranks) // plan.world.mesh.dp_replicate
    return ranks.from_first(lambda: _lacking(folder, needed_bytes))


def _lacking(folder: Path, needed_bytes: int) -> str | None:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes >= needed_bytes + SPARE_BYTES:
        return None
    return (
        f"it needs {format_bytes(needed_bytes)} and {format_bytes(SPARE_BYTES)} in reserve, `{existing}` has "
        f"{format_bytes(free_bytes)} free; remove files there, or keep fewer by `sft.save_total_limit`"
    )


def _trained_bytes(trainer: Any) -> int:
    """This rank's share of what a checkpoint holds: what is trained, and the optimizer's state of it."""
    total = 0
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
    for state in optimizer.state.values():
        total += sum(_bytes(value) for value in state.values())
    return total + sum(_bytes(p) for p in trainer.model.parameters() if p.requires_grad)


def _bytes(value: Any) -> int:
    if not isinstance(value, torch.Tensor):
        return 0
    local = value.to_local() if hasattr(value, "to_local") else value
    return int(local.numel() * local.element_size())


def _summed(value: int, ranks: Ranks) -> int:
    if ranks.size == 1:
        return value
    total = torch.tensor(value, dtype=torch.int64, device=ranks.device)
    dist.all_reduce(total)
    return int(total.item())
