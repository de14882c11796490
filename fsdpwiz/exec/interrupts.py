"""Signals that ask a command to stop, taken note of instead of killing it."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Interrupts:
    """The stop signals received so far, oldest first."""

    received: list[signal.Signals] = field(default_factory=list)

    @property
    def requested(self) -> bool:
        """Whether a stop was asked for."""
        return bool(self.received)

    @property
    def repeated(self) -> bool:
        """Whether the user asked again: no more patience."""
        return len(self.received) > 1

    def note(self, number: int, _frame: FrameType | None) -> None:
        """The signal handler: only takes note."""
        self.received.append(signal.Signals(number))


@contextlib.contextmanager
def noted() -> Iterator[Interrupts]:
    """Within the block SIGINT, SIGTERM and SIGHUP are only noted; one that was ignored stays ignored.

    A signal ignored on entry is one the caller arranged for, e.g. by nohup. Main thread only.
    """
    interrupts = Interrupts()
    former = {}
    for number in ASKING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            former[number] = signal.signal(number, interrupts.note)
    try:
        yield interrupts
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
