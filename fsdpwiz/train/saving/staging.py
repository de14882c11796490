"""Memory for the copies of a save: reused by the next, and never more than it was allowed."""

from __future__ import annotations

import torch
from torch import Tensor

ALIGNMENT_BYTES = 64


class Staging:
    """Host memory that is given out in pieces; pages that no copy has reached cost nothing."""

    def __init__(self, *, pinned: bool = False) -> None:
        self._pinned = pinned
        self._buffer: Tensor | None = None
        self._used_bytes = 0
        self._limit_bytes = 0

    def begin(self, limit_bytes: int) -> None:
        """All that was given out before is free again; at most `limit_bytes` are given out from now on."""
        self._used_bytes, self._limit_bytes = 0, max(limit_bytes, 0)
        if self._buffer is not None and self._buffer.numel() != self._limit_bytes:
            self._buffer = None

    def copy(self, tensor: Tensor) -> Tensor | None:
        """A copy of `tensor` on the host, None where there is no room for it."""
        size_bytes = tensor.numel() * tensor.element_size()
        if self._used_bytes + size_bytes > self._limit_bytes:
            return None
        if self._buffer is None:
            self._buffer = torch.empty(self._limit_bytes, dtype=torch.uint8, pin_memory=self._pinned)
        piece = self._buffer[self._used_bytes : self._used_bytes + size_bytes]
        self._used_bytes += -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        copied = piece.view(tensor.dtype).view(tensor.shape)
        return copied.copy_(tensor)
