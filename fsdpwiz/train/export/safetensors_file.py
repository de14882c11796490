"""Safetensors files read and written in parts, so that no whole file or tensor need be in memory twice.

The format: eight bytes with the length of a JSON header, the header ({name: dtype, shape, data_offsets}),
then the data without gaps.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fsdpwiz.train.export.entry import Entry

HEADER_LIMIT_BYTES = 100_000_000
BLOCK_BYTES = 64 * 1024 * 1024
SYNC_BYTES = 4 * BLOCK_BYTES
NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
}
DTYPES = {name: dtype for dtype, name in NAMES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One tensor in a file: `offset` is the byte of the file at which it begins."""

    path: Path
    dtype: torch.dtype
    shape: tuple[int, ...]
    offset: int

    @property
    def elements(self) -> int:
        return torch.Size(self.shape).numel()

    def read(self, start: int = 0, count: int | None = None) -> torch.Tensor:
        """`count` elements (None: all that follow) from element `start`, flat."""
        count = self.elements - start if count is None else count
        if not count:
            return torch.empty(0, dtype=self.dtype)
        size = self.dtype.itemsize
        raw = np.fromfile(self.path, dtype=np.uint8, count=count * size, offset=self.offset + start * size)
        return torch.from_numpy(raw).view(self.dtype)


def read_header(path: Path) -> dict[str, Stored]:
    """The tensors of a file; ValueError for whatever is not a sound safetensors file."""
    size_bytes = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(HEADER_LIMIT_BYTES, size_bytes - 8):
            raise ValueError(f"`{path.name}` is not a safetensors file")
        text = stream.read(length)
    try:
        header = json.loads(text)
        header.pop("__metadata__", None)
        return {str(name): _stored(path, given, 8 + length, size_bytes) for name, given in header.items()}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"`{path.name}` has a broken header") from error


def _stored(path: Path, given: Mapping[str, Any], data_start: int, size_bytes: int) -> Stored:
    begin, end = given["data_offsets"]
    shape = tuple(given["shape"])
    stored = Stored(path=path, dtype=DTYPES[given["dtype"]], shape=shape, offset=data_start + begin)
    if (
        min((begin, *shape)) < 0
        or end - begin != stored.elements * stored.dtype.itemsize
        or data_start + end > size_bytes
    ):
        raise ValueError(path.name)
    return stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A file before its data: the bytes it begins with, the byte at which each tensor begins, its size."""

    header: bytes
    offsets: Mapping[str, int]
    size_bytes: int

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Layout:
        """The same for the same entries, on whichever rank."""
        entries = sorted(entries, key=lambda entry: -entry.dtype.itemsize)
        offsets, header = _layout(entries)
        text = json.dumps({"__metadata__": {"format": "pt"}, **header}, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        start = 8 + len(text)
        return cls(
            header=struct.pack("<Q", len(text)) + text,
            offsets={name: start + offset for name, offset in offsets.items()},
            size_bytes=start + sum(entry.size_bytes for entry in entries),
        )


class SafetensorsWriter:
    """One file whose tensors arrive one after the other; the header is written first."""

    def __init__(self, path: Path, entries: Iterable[Entry]) -> None:
        layout = Layout.of(entries)
        self._offsets = layout.offsets
        self._stream = path.open("wb", buffering=0)
        self._stream.write(layout.header)

    def put(self, entry: Entry, tensor: torch.Tensor) -> None:
        """Write one tensor, block by block; ValueError where it is not what the header says."""
        if tuple(tensor.shape) != entry.shape:
            raise ValueError(f"`{entry.name}` has shape {list(tensor.shape)}, expected {list(entry.shape)}")
        self._stream.seek(self._offsets[entry.name])
        flat, unsynced_bytes = tensor.detach().reshape(-1), 0
        for block in flat.split(BLOCK_BYTES // entry.dtype.itemsize):
            # A copy: torch will not free a storage that numpy has seen, and FSDP1 frees what it lent.
            copied = block.to(device="cpu", dtype=entry.dtype, copy=True)
            data = copied.view(torch.uint8).numpy().data
            while data:
                data = data[self._stream.write(data) :]
            unsynced_bytes += block.numel() * entry.dtype.itemsize
            if unsynced_bytes >= SYNC_BYTES:
                os.fdatasync(self._stream.fileno())
                unsynced_bytes = 0

    def close(self) -> None:
        """Make the file durable."""
        os.fsync(self._stream.fileno())
        self._stream.close()

    def abandon(self) -> None:
        self._stream.close()


def _layout(entries: Iterable[Entry]) -> tuple[dict[str, int], dict[str, Any]]:
    offsets, header, at = {}, {}, 0
    for entry in entries:
        offsets[entry.name] = at
        header[entry.name] = {
            "dtype": NAMES[entry.dtype],
            "shape": list(entry.shape),
            "data_offsets": [at, at + entry.size_bytes],
        }
        at += entry.size_bytes
    return offsets, header
