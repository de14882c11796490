"""Sizes and checksums (xxh3-128) of the files of a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import xxhash

Checksums = Mapping[str, tuple[int, str]]
BLOCK_BYTES = 8 * 1024 * 1024


class DamagedError(ValueError):
    """A file is not what its checkpoint's manifest says; the text says which, and how."""


def listed(folder: Path, known: Checksums) -> dict[str, dict[str, Any]]:
    """Every file below `folder`, made durable: its name to {"bytes", "xxh3_128"}, hashed unless `known`."""
    found = {}
    for path in sorted(_files(folder)):
        name = path.relative_to(folder).as_posix()
        size_bytes, checksum = known.get(name) or _hashed(path, durable=True)
        found[name] = {"bytes": size_bytes, "xxh3_128": checksum}
    return found


def check_sizes(folder: Path, files: Mapping[str, Any]) -> None:
    """Raise DamagedError unless every listed file is there, has its size, and lies inside `folder`."""
    for name, size_bytes, _ in _entries(files):
        path = folder / name
        try:
            found = path.lstat().st_size if not path.is_symlink() else -1
        except OSError:
            raise DamagedError(f"`{name}` is missing") from None
        if found != size_bytes:
            raise DamagedError(f"`{name}` has {max(found, 0):,} bytes, {size_bytes:,} were written")


def check_contents(folder: Path, files: Mapping[str, Any], *, part: int = 0, parts: int = 1) -> None:
    """Raise DamagedError where a checksum differs; of `parts` callers each reads its share of the bytes."""
    for name, _, checksum in _share(list(_entries(files)), part, parts):
        try:
            found = _hashed(folder / name, durable=False)[1]
        except OSError as error:
            raise DamagedError(f"`{name}` cannot be read: {error.strerror}") from error
        if found != checksum:
            raise DamagedError(f"`{name}` is not what was written: its checksum differs")


def _share(entries: list[tuple[str, int, str]], part: int, parts: int) -> Iterator[tuple[str, int, str]]:
    """The largest files first, each to the share with the fewest bytes so far: the same on every caller."""
    loads = [0] * parts
    for entry in sorted(entries, key=lambda entry: (-entry[1], entry[0])):
        least = loads.index(min(loads))
        loads[least] += entry[1]
        if least == part:
            yield entry


def _entries(files: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    for name, values in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not isinstance(values, Mapping):
            raise DamagedError("its manifest lists what is no file of it")
        yield name, int(values.get("bytes", -1)), str(values.get("xxh3_128"))


def _files(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        yield from (Path(root) / name for name in names)


def _hashed(path: Path, *, durable: bool) -> tuple[int, str]:
    digest, size_bytes = xxhash.xxh3_128(), 0
    with path.open("rb", buffering=0) as stream:
        if durable:
            os.fsync(stream.fileno())
        block = bytearray(BLOCK_BYTES)
        while count := stream.readinto(block):
            digest.update(memoryview(block)[:count])
            size_bytes += count
    return size_bytes, digest.hexdigest()
