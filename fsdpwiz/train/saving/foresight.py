"""How much of a save a step will leave no time to write, known before the first save."""

from __future__ import annotations

import time
from typing import Any

from fsdpwiz.train.saving.sizes import state_bytes

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
