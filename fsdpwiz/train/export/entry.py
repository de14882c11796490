"""The tensors of a model as they are written, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One tensor of the exported model: `shape` in elements, `dtype` as written."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def elements(self) -> int:
        return torch.Size(self.shape).numel()

    @property
    def size_bytes(self) -> int:
        return self.elements * self.dtype.itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Elements of a tensor that this process holds: `values` is flat and begins at element `start`.

    Of the ranks that hold the same elements one is `primary`.
    """

    name: str
    start: int
    values: torch.Tensor
    primary: bool = True


class State(Protocol):
    """Trained weights, ready to be written: names and shapes first, then one tensor after the other.

    With several processes both iterators are collective: every rank runs through them alike.
    """

    @property
    def entries(self) -> tuple[Entry, ...]: ...

    def tensors(self) -> Iterator[tuple[Entry, torch.Tensor]]:
        """Each entry with its whole tensor (at least on rank 0), in the order of `entries`."""
        ...

    def pieces(self) -> Iterator[Piece]:
        """What this rank holds of each tensor, in the written dtype and read anew."""
        ...
