"""A live model's weights under the names and in the dtype they are written in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from fsdpwiz.train.export.architecture import Architecture
from fsdpwiz.train.export.entry import Entry, Piece
from fsdpwiz.train.export.live import LiveWeights, Slot
from fsdpwiz.train.export.merge import LoraMerge
from fsdpwiz.train.export.names import base_name, belongs_to_adapter
from fsdpwiz.train.export.ranks import Ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Where a slot goes; `first`: its tensor is the one written, others are tied to it."""

    entry: Entry
    changed: bool
    first: bool


class LiveState:
    """`State` of a model in training. Rank 0 merges LoRA, so it alone yields the pieces of merged tensors."""

    def __init__(
        self,
        weights: LiveWeights,
        architecture: Architecture,
        dtype: torch.dtype,
        ranks: Ranks,
        merge: LoraMerge | None,
    ) -> None:
        self._weights = weights
        self._ranks = ranks
        self._merge = merge
        self._targets = dict(_targets(weights, architecture, dtype, merge))

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(target.entry for target in self._targets.values() if target.first)

    def tensors(self) -> Iterator[tuple[Entry, torch.Tensor]]:
        wanted = [name for name, target in self._targets.items() if target.first]
        for slot, tensor in self._weights.gather(wanted):
            yield self._targets[slot.name].entry, self._final(slot, tensor)

    def pieces(self) -> Iterator[Piece]:
        own = {slot.name for slot in self._weights.slots if slot.in_runs}
        own = {name for name, target in self._targets.items() if name in own and not target.changed}
        for slot, start, values, primary in self._weights.local(own):
            target = self._targets[slot.name]
            yield Piece(name=target.entry.name, start=start, values=values, primary=primary and target.first)
        for slot, tensor in self._weights.gather(set(self._targets) - own):
            if self._ranks.first:
                name = self._targets[slot.name].entry.name
                first = self._targets[slot.name].first
                yield Piece(name=name, start=0, values=self._final(slot, tensor).reshape(-1), primary=first)

    def _final(self, slot: Slot, tensor: torch.Tensor) -> torch.Tensor:
        target = self._targets[slot.name]
        if not target.changed or self._merge is None or not self._ranks.first:
            return tensor
        return self._merge.merged(target.entry.name, tensor)


def _targets(
    weights: LiveWeights, architecture: Architecture, dtype: torch.dtype, merge: LoraMerge | None
) -> Iterator[tuple[str, _Target]]:
    seen: set[str] = set()
    for slot in weights.slots:
        name = base_name(slot.name) if merge is not None else slot.name
        if name is None:
            continue
        written = architecture.written_name(name)
        stored = dtype if slot.is_float else slot.tensor.dtype
        entry = Entry(name=written, shape=slot.shape, dtype=stored)
        changed = merge is not None and merge.changes(name)
        yield slot.name, _Target(entry=entry, changed=changed, first=written not in seen)
        seen.add(written)


def ties_broken(weights: LiveWeights, tied: Mapping[str, str], merge: LoraMerge | None) -> bool:
    """Whether tensors that the architecture ties are no longer one: trained apart, or adapted."""
    held: dict[str, tuple[int, str | None]] = {}
    for slot in weights.slots:
        name = base_name(slot.name) if merge is not None else slot.name
        if name is not None:
            held[name] = slot.identity, (name if merge is not None and merge.changes(name) else None)
    return any(name in held and other in held and held[name] != held[other] for name, other in tied.items())


def adapter_tensors(weights: LiveWeights, ranks: Ranks) -> Mapping[str, torch.Tensor]:
    """The adapter and whatever else was trained, whole, on rank 0's host; empty elsewhere. Collective."""
    wanted = [slot.name for slot in weights.slots if belongs_to_adapter(slot.name) or slot.trainable]
    gathered = weights.gather(name for name in wanted if ".original_module." not in name)
    tensors = {}
    for slot, tensor in gathered:
        if ranks.first:
            tensors[slot.name] = tensor.detach().cpu().clone()
    return tensors
