"""The memory of every rank under a launcher, sampled from outside."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

INTERVAL_S = 0.03
SEARCH_INTERVAL_S = 0.5
_ANONYMOUS, _FILE = ("RssAnon", "RssShmem"), ("RssFile",)


@dataclass(frozen=True, slots=True)
class Sample:
    """What each rank holds at a time, in bytes: anonymous with shared memory, and mapped file pages."""

    time: float
    anonymous: dict[int, int]
    file: dict[int, int]


@dataclass(slots=True)
class Samples:
    """In order of time; times are unix seconds, an interval includes both its ends."""

    samples: list[Sample] = field(default_factory=list)

    def at(self, moment: float, rank: int) -> int:
        """Anonymous bytes of a rank in the last sample before `moment`."""
        return next(
            sample.anonymous[rank]
            for sample in reversed(self.samples)
            if sample.time <= moment and rank in sample.anonymous
        )

    def peak(self, begin: float, end: float, rank: int) -> int:
        """The most anonymous bytes of a rank in an interval."""
        return max(sample.anonymous.get(rank, 0) for sample in self._within(begin, end))

    def file_peak(self, begin: float, end: float) -> int:
        """The most file pages that all ranks have mapped at once."""
        return max(sum(sample.file.values()) for sample in self._within(begin, end))

    def node_peak(self, begin: float, end: float, baselines: dict[int, int]) -> int:
        """The most that all ranks hold at once, each less its own baseline."""
        return max(
            sum(held - baselines[rank] for rank, held in sample.anonymous.items())
            for sample in self._within(begin, end)
        )

    def _within(self, begin: float, end: float) -> Iterator[Sample]:
        return (sample for sample in self.samples if begin <= sample.time <= end)


@contextmanager
def sampled(launcher: int) -> Iterator[Samples]:
    """Sample the ranks below the process `launcher` as long as the block lasts."""
    samples, stop = Samples(), threading.Event()
    thread = threading.Thread(target=_sample, args=(launcher, samples.samples, stop), daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


def _sample(launcher: int, into: list[Sample], stop: threading.Event) -> None:
    ranks: dict[int, int] = {}
    search_due = 0.0
    while not stop.wait(INTERVAL_S):
        now = time.time()
        if now >= search_due:
            ranks, search_due = _ranks(launcher, ranks), now + SEARCH_INTERVAL_S
        sample = Sample(now, {}, {})
        for process, rank in ranks.items():
            held = _memory(process)
            if held is not None:
                sample.anonymous[rank] = sample.anonymous.get(rank, 0) + held[0]
                sample.file[rank] = sample.file.get(rank, 0) + held[1]
        into.append(sample)


def _ranks(launcher: int, known: dict[int, int]) -> dict[int, int]:
    """Process to rank: all below the launcher that were started with a rank, their own children too."""
    found = {}
    try:
        for process in psutil.Process(launcher).children(recursive=True):
            rank = known.get(process.pid)
            rank = _rank(process.pid) if rank is None else rank
            if rank is not None:
                found[process.pid] = rank
    except psutil.Error:
        pass
    return found


def _rank(process: int) -> int | None:
    try:
        environ = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return next((int(entry[5:]) for entry in environ if entry.startswith(b"RANK=")), None)


def _memory(process: int) -> tuple[int, int] | None:
    """Anonymous and file bytes of a process; None where it has gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    values = {name: int(value.split()[0]) * 1024 for name, value in _pairs(lines)}
    if not values:
        return None
    return sum(values[name] for name in _ANONYMOUS), sum(values[name] for name in _FILE)


def _pairs(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, _, value = line.partition(":")
        if name in _ANONYMOUS or name in _FILE:
            yield name, value
