"""Parts of stored tensors, read in blocks of bounded size into memory that is there already."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import torch
from torch import Tensor

from fsdpwiz.train.export.safetensors_file import Stored

BLOCK_BYTES = 16 * 1024 * 1024


class Reader:
    """Reads through one buffer, with one file open at a time."""

    def __init__(self, block_bytes: int = BLOCK_BYTES) -> None:
        self._buffer = bytearray(block_bytes)
        self._path: Path | None = None
        self._descriptor = -1
        self.read_bytes = 0

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._path is not None:
            os.close(self._descriptor)
        self._path, self._descriptor = None, -1

    def fill(self, into: Tensor, stored: Stored, offset: Sequence[int]) -> None:
        """Copy the part of `stored` that begins at `offset` and has the shape of `into`, cast to its dtype.

        `into` is contiguous. Raises EOFError where the file has become shorter.
        """
        self._open(stored)
        flat, at = into.reshape(-1), 0
        for start, count in _runs(stored.shape, tuple(into.shape), tuple(offset)):
            for block in self._blocks(stored, start, count):
                flat[at : at + block.numel()].copy_(block)
                at += block.numel()

    def _open(self, stored: Stored) -> None:
        if self._path != stored.path:
            self.close()
            self._descriptor = os.open(stored.path, os.O_RDONLY | os.O_CLOEXEC)
            self._path = stored.path

    def _blocks(self, stored: Stored, start: int, count: int) -> Iterator[Tensor]:
        size = stored.dtype.itemsize
        most = len(self._buffer) // size
        for begin in range(start, start + count, most):
            elements = min(most, start + count - begin)
            self._read(memoryview(self._buffer)[: elements * size], stored, begin * size)
            yield torch.frombuffer(self._buffer, dtype=stored.dtype, count=elements)

    def _read(self, view: memoryview, stored: Stored, begin_bytes: int) -> None:
        at = stored.offset + begin_bytes
        while view:
            count = os.preadv(self._descriptor, [view], at)
            if not count:
                raise EOFError(f"`{stored.path}` ends before its tensors do: it is damaged, or changing")
            view, at = view[count:], at + count
            self.read_bytes += count


def _runs(
    whole: tuple[int, ...], part: tuple[int, ...], offset: tuple[int, ...]
) -> Iterator[tuple[int, int]]:
    """First element and length of each contiguous run of a part of a row-major tensor, in its order."""
    if 0 in part:
        return
    if not part:
        yield 0, 1
        return
    strides = [torch.Size(whole[axis + 1 :]).numel() for axis in range(len(whole))]
    # Behind the outer axis the part is whole, so that what follows along it is one run.
    outer = next(axis for axis in range(len(whole)) if part[axis + 1 :] == whole[axis + 1 :])
    for index in itertools.product(*(range(size) for size in part[:outer])):
        place = (*(at + begin for at, begin in zip(index, offset, strict=False)), offset[outer])
        yield sum(map(operator.mul, place, strides)), part[outer] * strides[outer]
