"""How much of a save a step will leave no time to write, known before the first save."""

from __future__ import annotations

import time
from typing import Any

import torch

WRITE_BYTES_PER_S = 500_000_000
TIMED_STEP = 3


class Foresight:
    """Told of every optimizer's step; the third is timed, since the ones before also prepare."""

    def __init__(self) -> None:
        self._begins_s: list[float] = []

    def unwritten_bytes(self, optimizer: Any) -> int | None:
        """What a save will have to copy before the next step, once; None at all other steps."""
        if len(self._begins_s) == TIMED_STEP:
            return None
        self._begins_s.append(time.perf_counter())
        if len(self._begins_s) < TIMED_STEP:
            return None
        step_s = self._begins_s[-1] - self._begins_s[-2]
        return max(state_bytes(optimizer) - int(step_s * WRITE_BYTES_PER_S), 0)


def state_bytes(optimizer: Any) -> int:
    """This rank's part of what the optimizer trains, and of its state."""
    trained = (parameter for group in optimizer.param_groups for parameter in group["params"])
    states = (value for state in optimizer.state.values() for value in state.values())
    return sum(map(local_bytes, trained)) + sum(map(local_bytes, states))


def local_bytes(value: Any) -> int:
    """Bytes of this rank's part of a tensor; 0 of anything else."""
    if not isinstance(value, torch.Tensor):
        return 0
    local = value.to_local() if hasattr(value, "to_local") else value
    return int(local.numel() * local.element_size())
