"""CUDA_VISIBLE_DEVICES read as CUDA reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One entry of the variable: a card by index, or a MIG slice by its id."""

    index: int | None = None
    mig: str | None = None


def chosen_devices(value: str | None, uuids: Sequence[str | None]) -> tuple[Chosen, ...]:
    """The devices that CUDA shows, out of cards with these `uuids` (by index; None where unknown).

    None shows all. As in CUDA, entries after the first that names no card are dropped, a card named
    twice shows none at all, and an empty value shows none. A UUID may be cut short while it is unique.
    """
    if value is None:
        return tuple(Chosen(index=index) for index in range(len(uuids)))
    chosen: list[Chosen] = []
    for entry in value.split(","):
        device = _device(entry.strip(), uuids)
        if device is None:
            break
        if device in chosen:
            return ()
        chosen.append(device)
    return tuple(chosen)


def _device(entry: str, uuids: Sequence[str | None]) -> Chosen | None:
    if entry.startswith("MIG-"):
        return Chosen(mig=entry)
    if entry.startswith("GPU-"):
        matches = [index for index, uuid in enumerate(uuids) if uuid is not None and uuid.startswith(entry)]
        return Chosen(index=matches[0]) if len(matches) == 1 else None
    if entry.isascii() and entry.isdigit() and len(entry) < 6 and int(entry) < len(uuids):
        return Chosen(index=int(entry))
    return None
