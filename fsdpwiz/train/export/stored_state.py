"""Weights in files under the names and in the dtype they are exported in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch

from fsdpwiz.train.export.architecture import Architecture
from fsdpwiz.train.export.entry import Entry, Piece
from fsdpwiz.train.export.merge import LoraMerge
from fsdpwiz.train.export.names import unwrapped
from fsdpwiz.train.export.weights import Shape, Weights

Change = Callable[[str, torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a tensor of the model lies: in which weights, and under which name there."""

    weights: Weights
    name: str

    @property
    def shape(self) -> Shape:
        return self.weights.tensors[self.name][0]

    @property
    def dtype(self) -> torch.dtype:
        return self.weights.tensors[self.name][1]

    def read(self) -> torch.Tensor:
        return self.weights.read(self.name)


def plain_names(weights: Weights, known: Iterable[str]) -> dict[str, str]:
    """Plain name to stored name, without the prefix of a surrounding state dict.

    Accelerate saves `{"model": state_dict}`, others something else: the prefix under which most `known`
    names are found is the one.
    """
    known = frozenset(known)
    stored = list(weights.tensors)
    prefixes = {""} | {f"{'.'.join(name.split('.')[:depth])}." for name in stored for depth in (1, 2)}

    def found(prefix: str) -> int:
        inside = (name for name in stored if name.startswith(prefix))
        return sum(unwrapped(name.removeprefix(prefix)) in known for name in inside)

    best = max(sorted(prefixes, key=len), key=found)
    return {unwrapped(name.removeprefix(best)): name for name in stored if name.startswith(best)}


class StoredState:
    """`State` of tensors in files. `quantise` packs and unpacks a base weight as training had it."""

    def __init__(
        self,
        origins: Mapping[str, Origin],
        architecture: Architecture,
        dtype: torch.dtype,
        *,
        merge: LoraMerge | None = None,
        quantise: Change | None = None,
    ) -> None:
        ignored = [re.compile(pattern) for pattern in architecture.ignored]
        self._origins = {
            name: origin
            for name, origin in origins.items()
            if name in architecture.expected or not any(pattern.search(name) for pattern in ignored)
        }
        self._architecture = architecture
        self._dtype = dtype
        self._merge = merge
        self._quantise = quantise

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entry(name) for name in self._first())

    def tensors(self) -> Iterator[tuple[Entry, torch.Tensor]]:
        for name in self._first():
            yield self._entry(name), self._final(name)

    def pieces(self) -> Iterator[Piece]:
        for name in self._origins:
            written = self._architecture.written_name(name)
            yield Piece(name=written, start=0, values=self._final(name).reshape(-1))

    def _first(self) -> list[str]:
        by_written: dict[str, str] = {}
        for name in self._origins:
            by_written.setdefault(self._architecture.written_name(name), name)
        return list(by_written.values())

    def _entry(self, name: str) -> Entry:
        origin = self._origins[name]
        dtype = self._dtype if origin.dtype.is_floating_point else origin.dtype
        return Entry(name=self._architecture.written_name(name), shape=origin.shape, dtype=dtype)

    def _final(self, name: str) -> torch.Tensor:
        tensor = self._origins[name].read()
        if self._quantise is not None:
            tensor = self._quantise(name, tensor)
        if self._merge is not None and self._merge.changes(name):
            tensor = self._merge.merged(name, tensor)
        return tensor


def ties_differ(origins: Mapping[str, Origin], tied: Mapping[str, str], merge: LoraMerge | None) -> bool:
    """Whether tensors that the architecture ties are stored apart and differ, or are adapted apart."""
    for name, other in tied.items():
        if merge is not None and (merge.changes(name) or merge.changes(other)):
            return True
        if name in origins and other in origins:
            one, two = origins[name], origins[other]
            if one != two and (one.shape != two.shape or not torch.equal(one.read(), two.read())):
                return True
    return False
