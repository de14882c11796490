"""Waiting for other ranks: as long as data is being prepared, and for all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta

PREPARATION_LIMIT_S = 7 * 24 * 3600


def barrier() -> None:
    """Wait for every rank; nothing where there is no process group."""
    import torch.distributed as dist

    if dist.is_initialized() and dist.get_world_size() > 1:
        dist.barrier()


def close() -> None:
    """Leave the process group, so that no rank's exit is another's lost connection."""
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()


@contextlib.contextmanager
def patience(timeout_s: float) -> Iterator[None]:
    """Let ranks wait for rank 0 without a time-out inside the block; `timeout_s` holds after it.

    Upstream lets rank 0 tokenise while the others wait in a collective, and that takes hours
    for a large data set. A rank that dies meanwhile is the launcher's to notice. Where nothing was
    raised all ranks leave the block together.
    """
    set_timeout(PREPARATION_LIMIT_S)
    try:
        yield
        barrier()
    finally:
        set_timeout(timeout_s)


def set_timeout(timeout_s: float) -> None:
    """Let every group that this process is in now wait that long, those of device meshes too.

    torch makes the groups of a mesh and of FSDP1's hybrid strategies with its backend's own default
    (2.13: 10 minutes for NCCL, 30 for gloo), whatever the default group was given.
    """
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import _set_pg_timeout, _world

    if dist.is_initialized():
        for group in tuple(_world.pg_map):
            _set_pg_timeout(timedelta(seconds=timeout_s), group)
