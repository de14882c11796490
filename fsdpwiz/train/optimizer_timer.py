"""How long the optimizer's step takes, without making anybody wait to know it."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Protocol


class OptimizerTimer(Protocol):
    """`begin` may be called again, which forgets the time so far; `take` gives each measurement once."""

    def begin(self) -> None: ...

    def end(self) -> None: ...

    def take(self) -> float | None: ...


class HostTimer:
    """By the clock: on a CPU the step is done when the call returns."""

    def __init__(self) -> None:
        self._begin_s: float | None = None
        self._taken_s: float | None = None

    def begin(self) -> None:
        self._begin_s = time.perf_counter()

    def end(self) -> None:
        if self._begin_s is not None:
            self._taken_s = time.perf_counter() - self._begin_s
        self._begin_s = None

    def take(self) -> float | None:
        """Seconds of the step that has ended; None where none has since the last call."""
        taken_s, self._taken_s = self._taken_s, None
        return taken_s


class DeviceTimer:
    """By events in the GPU's stream: nobody waits for them, so `take` often gives the step before."""

    def __init__(self) -> None:
        self._begin: Any = None
        self._ended: deque[tuple[Any, Any]] = deque()

    def begin(self) -> None:
        self._begin = self._event()

    def end(self) -> None:
        if self._begin is not None:
            self._ended.append((self._begin, self._event()))
        self._begin = None

    def take(self) -> float | None:
        """Seconds of the newest step that the GPU has finished; None where none has since the last call."""
        taken_s = None
        while self._ended and self._ended[0][1].query():
            begin, end = self._ended.popleft()
            taken_s = begin.elapsed_time(end) / 1e3
        return taken_s

    @staticmethod
    def _event() -> Any:
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event


def timer_of(device: str) -> OptimizerTimer:
    """The timer for a plan's device."""
    return DeviceTimer() if device == "cuda" else HostTimer()
