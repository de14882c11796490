"""A rank's events: when its phases begin and end, its steps, a heartbeat, each with its memory."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from fsdpwiz.runs.records import append
from fsdpwiz.train import memory

Phase = Literal["start", "data", "load", "prepare", "train", "evaluate", "save", "export", "end"]
HEARTBEAT_S = 10.0


class Events:
    """Appends to one rank's events file; a phase may lie within another.

    The peaks of a phase's end are those since its begin. They are read and reset at every
    boundary, and kept for each phase that is open.
    """

    def __init__(self, path: Path, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._path = path
        self._heartbeat_s = heartbeat_s
        self._open: list[_Peaks] = []
        self._step: int | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin the heartbeat."""
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the heartbeat."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)

    @contextlib.contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Records the begin of a phase, and its end unless it fails."""
        self.begin(phase)
        yield
        self.end(phase)

    def begin(self, phase: Phase, *, total_steps: int | None = None) -> None:
        """A phase begins; `total_steps` is known when training does."""
        self._note_peaks()
        self._open.append(_Peaks(phase))
        self._write("begin", phase, further={} if total_steps is None else {"total_steps": total_steps})

    def end(self, phase: Phase) -> None:
        """End `phase`, and any phase within it that is still open."""
        self._note_peaks()
        while self._open:
            peaks = self._open.pop()
            self._write("end", peaks.phase, peaks)
            if peaks.phase == phase:
                return

    def mark(self, phase: Phase) -> None:
        """A phase without duration."""
        self.begin(phase)
        self.end(phase)

    def step(self, step: int) -> None:
        """An optimizer step is done."""
        self._step = step
        self._write("step", self.current)

    @property
    def current(self) -> Phase:
        """The innermost open phase."""
        return self._open[-1].phase if self._open else "start"

    def _note_peaks(self) -> None:
        rss, gpu = memory.rss_peak_bytes(), memory.gpu_bytes()[1]
        for peaks in self._open:
            peaks.note(rss, gpu)
        memory.reset_peaks()

    def _write(
        self,
        event: str,
        phase: Phase,
        peaks: _Peaks | None = None,
        further: Mapping[str, int] | None = None,
    ) -> None:
        allocated, gpu_peak = memory.gpu_bytes()
        resident, peak = memory.rss_bytes(), peaks.rss_bytes if peaks else memory.rss_peak_bytes()
        append(
            self._path,
            {
                "event": event,
                "phase": phase,
                "step": self._step,
                "rss_bytes": resident,
                # A page may have come since the peak was noted.
                "rss_peak_bytes": _highest(peak, resident),
                "gpu_allocated_bytes": allocated,
                "gpu_peak_bytes": peaks.gpu_bytes if peaks else gpu_peak,
                **(further or {}),
            },
        )

    def _beat(self) -> None:
        while not self._stopped.wait(self._heartbeat_s):
            with contextlib.suppress(OSError):
                self._write("heartbeat", self.current)


class _Peaks:
    """The highest memory seen while a phase is open."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.rss_bytes: int | None = None
        self.gpu_bytes: int | None = None

    def note(self, rss_bytes: int | None, gpu_bytes: int | None) -> None:
        self.rss_bytes = _highest(self.rss_bytes, rss_bytes)
        self.gpu_bytes = _highest(self.gpu_bytes, gpu_bytes)


def _highest(first: int | None, second: int | None) -> int | None:
    known = [value for value in (first, second) if value is not None]
    return max(known) if known else None
