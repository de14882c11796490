"""Memory for the copies of a save: reused by the next, and never more than it was allowed."""

from __future__ import annotations

import threading

import torch
from torch import Tensor

ALIGNMENT_BYTES = 64
TOUCH_BYTES = 16 * 1024 * 1024


class Staging:
    """Host memory that is given out in pieces; pages that no copy has reached cost nothing.

    `held_bytes` are those that cost something, and are kept for the next save.
    """

    def __init__(self, *, pinned: bool = False) -> None:
        self._pinned = pinned
        self._buffer: Tensor | None = None
        self._used_bytes = 0
        self._limit_bytes = 0
        self.held_bytes = 0
        self._warming: threading.Thread | None = None
        self._stop = threading.Event()

    def warm(self, size_bytes: int, limit_bytes: int) -> None:
        """Begin to take the first `size_bytes` of `limit_bytes` from the system, beside the training.

        Memory that is new costs several times its copy, and a save would wait for it.
        """
        self._warming = threading.Thread(
            target=self._touch, args=(size_bytes, limit_bytes), name="staging", daemon=True
        )
        self._warming.start()

    def _touch(self, size_bytes: int, limit_bytes: int) -> None:
        self._buffer = self._allocated(limit_bytes)
        for piece in self._buffer[:size_bytes].split(TOUCH_BYTES):
            if self._stop.is_set():
                return
            piece.zero_()
            self.held_bytes += len(piece)

    def begin(self, limit_bytes: int) -> None:
        """All that was given out before is free again; at most `limit_bytes` are given out from now on."""
        self._used_bytes, self._limit_bytes = 0, max(limit_bytes, 0)
        if self._warming is not None:
            self._stop.set()
            self._warming.join()
            self._warming = None
        if self._buffer is not None and self._buffer.numel() < self._limit_bytes:
            self._buffer, self.held_bytes = None, 0

    def copy(self, tensor: Tensor) -> Tensor | None:
        """A copy of `tensor` on the host, None where there is no room for it."""
        size_bytes = tensor.numel() * tensor.element_size()
        if self._used_bytes + size_bytes > self._limit_bytes:
            return None
        if self._buffer is None:
            self._buffer = self._allocated(self._limit_bytes)
        piece = self._buffer[self._used_bytes : self._used_bytes + size_bytes]
        self._used_bytes += -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        self.held_bytes = max(self.held_bytes, self._used_bytes)
        copied = piece.view(tensor.dtype).view(tensor.shape)
        return copied.copy_(tensor)

    def _allocated(self, size_bytes: int) -> Tensor:
        return torch.empty(size_bytes, dtype=torch.uint8, pin_memory=self._pinned)
