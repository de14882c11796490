"""What of a save is still to be written: shared by the thread that writes and the training that waits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

Copy = Callable[[Tensor], Tensor | None]


@dataclass(slots=True, eq=False)
class Item:
    """One entry of one part's plan; `live` is the tensor that training will change, until it is copied."""

    part: int
    entry: Any
    live: Tensor
    size_bytes: int
    copied: bool = False


class Items:
    """The writer takes items from the front; the training copies from the back, until they meet.

    The writer begins no other item while the training copies: a copy is several times as fast as a write,
    and training waits.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._live = deque(items)
        self._copies: deque[Item] = deque()
        self._changed = threading.Condition()
        self._writing: Item | None = None
        self._copying = 0
        self._settling = False
        self._abandoned = False
        self.copied_bytes = 0

    def take(self) -> Item | None:
        """The next item to write, live ones first; None when all have been taken. For the writer."""
        with self._changed:
            self._writing = None
            self._changed.notify_all()
            while self._settling or (not self._live and not self._copies and self._copying):
                self._changed.wait()
            if self._live:
                self._writing = self._live.popleft()
                return self._writing
            return self._copies.popleft() if self._copies else None

    def settle(self, copy: Copy) -> None:
        """Return when no live tensor is needed any more: each is written, or `copy` has taken it.

        `copy` gives the copy, or None where there is no room for one: then the rest is waited for.
        """
        self._settling = True
        try:
            while (item := self._last()) is not None and self._copied(item, copy):
                pass
        finally:
            with self._changed:
                self._settling = False
                self._changed.notify_all()
        with self._changed:
            while not self._abandoned and (self._live or self._writing is not None):
                self._changed.wait()

    def _copied(self, item: Item, copy: Copy) -> bool:
        copied = copy(item.live)
        with self._changed:
            self._copying -= 1
            if copied is None:
                self._live.append(item)
            else:
                item.live, item.copied = copied, True
                self._copies.append(item)
                self.copied_bytes += item.size_bytes
            self._changed.notify_all()
        return copied is not None

    def release(self, item: Item) -> None:
        """The writer has what it took in memory of its own. For the writer."""
        with self._changed:
            if self._writing is item:
                self._writing = None
                self._changed.notify_all()

    def abandon(self) -> None:
        """Nothing more is written: whoever waits goes on."""
        with self._changed:
            self._abandoned = True
            self._live.clear()
            self._copies.clear()
            self._changed.notify_all()

    def _last(self) -> Item | None:
        with self._changed:
            if not self._live or self._abandoned:
                return None
            self._copying += 1
            return self._live.pop()
