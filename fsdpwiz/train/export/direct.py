"""Every rank writes its own rows to their place in the final files: nobody gathers a tensor.

Header and offsets follow from the entries alone, so all ranks know them. Tensors that only rank 0 has in
their final form (merged adapters, unpacked bases) rank 0 writes, one at a time.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from fsdpwiz.core import atomic
from fsdpwiz.train.export.entry import Entry, Piece, State
from fsdpwiz.train.export.ranks import Ranks
from fsdpwiz.train.export.safetensors_file import Layout
from fsdpwiz.train.export.shards import INDEX_NAME, Shards

BLOCK_BYTES = 16 * 1024 * 1024
PROBE_NAME = ".probe"
_NOT_TAKEN = frozenset({errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS, errno.ESPIPE})


def shared(folder: Path, ranks: Ranks) -> bool:
    """Whether every rank sees what rank 0 writes into `folder`. Collective."""
    token = ranks.from_first(lambda: _leave_probe(folder))
    seen = _probe_of(folder) == token
    nobody_missed_it = not ranks.any_true(not seen)
    if ranks.first:
        with suppress(OSError):
            (folder / PROBE_NAME).unlink()
    return nobody_missed_it


def write_direct(
    state: State, folder: Path, shards: Shards, ranks: Ranks, *, failed: Callable[[OSError], Exception]
) -> bool:
    """Write all files of `shards`, then the index; whether the file system takes files written so.

    Collective. Where a rank's write fails, every rank raises what `failed` makes of its error.
    """
    layouts = {name: Layout.of(group) for name, group in shards.files.items()}
    ranks.from_first(lambda: _begin(folder, layouts, failed))
    places = {
        entry.name: _Place(file=name, entry=entry, offset=layouts[name].offsets[entry.name])
        for name, group in shards.files.items()
        for entry in group
    }
    failure: OSError | None = None
    with _Files(folder) as files:
        for piece in state.pieces():
            # Goes on after a failure: the other ranks count on this one in their collectives.
            if failure is None and piece.primary:
                try:
                    _write(files, places[piece.name], piece)
                except OSError as error:
                    failure = error
        failure = failure or files.sync()
    if ranks.any_true(failure is not None and failure.errno in _NOT_TAKEN):
        ranks.from_first(lambda: _remove(folder, layouts))
        return False
    ranks.raise_first(None if failure is None else failed(failure))
    ranks.from_first(lambda: _end(folder, shards))
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a tensor lies: `offset` is the byte of the file at which it begins."""

    file: str
    entry: Entry
    offset: int


class _Files:
    """The files that this rank has written to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptors: dict[str, int] = {}

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)

    def descriptor(self, name: str) -> int:
        if name not in self._descriptors:
            self._descriptors[name] = os.open(self._folder / name, os.O_WRONLY | os.O_CLOEXEC)
        return self._descriptors[name]

    def sync(self) -> OSError | None:
        try:
            for descriptor in self._descriptors.values():
                os.fsync(descriptor)
        except OSError as error:
            return error
        return None


def _write(files: _Files, place: _Place, piece: Piece) -> None:
    size = place.entry.dtype.itemsize
    descriptor, at = files.descriptor(place.file), place.offset + piece.start * size
    for block in piece.values.detach().split(BLOCK_BYTES // size):
        # A copy: torch will not free a storage that numpy has seen, and FSDP1 frees what it lent.
        copied = block.to(device="cpu", dtype=place.entry.dtype, copy=True)
        data = copied.view(torch.uint8).numpy().data
        while data:
            count = os.pwrite(descriptor, data, at)
            data, at = data[count:], at + count


def _begin(folder: Path, layouts: Mapping[str, Layout], failed: Callable[[OSError], Exception]) -> None:
    """Files of their final size, so that a full disk is met before any rank writes."""
    for name, layout in layouts.items():
        try:
            with _created(folder / name) as descriptor:
                os.write(descriptor, layout.header)
                _reserve(descriptor, layout.size_bytes)
        except OSError as error:
            raise failed(error) from error


def _reserve(descriptor: int, size_bytes: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, size_bytes)
    except OSError as error:
        if error.errno not in _NOT_TAKEN:
            raise
        os.ftruncate(descriptor, size_bytes)


def _remove(folder: Path, layouts: Mapping[str, Layout]) -> None:
    for name in layouts:
        (folder / name).unlink(missing_ok=True)


@contextmanager
def _created(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _end(folder: Path, shards: Shards) -> None:
    index = shards.index()
    if index is not None:
        atomic.write_text(folder / INDEX_NAME, index)


def _leave_probe(folder: Path) -> str:
    token = uuid.uuid4().hex
    atomic.write_text(folder / PROBE_NAME, token)
    return token


def _probe_of(folder: Path) -> str | None:
    try:
        return (folder / PROBE_NAME).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
