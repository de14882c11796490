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
from fsdpwiz.train.saving.sizes import state_bytes

SPARE_BYTES = 64 * 1024 * 1024


def shortage(folder: Path, trainer: Any, plan: Plan) -> str | None:
    """Why `folder` has no room for the state of now, the same words on every rank; None where it has."""
    ranks = Ranks.here(trainer.accelerator.device)
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
    needed_bytes = _summed(state_bytes(optimizer), ranks) // plan.world.mesh.dp_replicate
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


def _summed(value: int, ranks: Ranks) -> int:
    if ranks.size == 1:
        return value
    total = torch.tensor(value, dtype=torch.int64, device=ranks.device)
    dist.all_reduce(total)
    return int(total.item())
