"""Whether a safetensors file is whole, and of which shapes, told from its header; no weight is read."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from fsdpwiz.core.units import format_bytes
from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.regular_file import UnreadableFileError, open_regular

# The format's own limit, and the one up to which a header is parsed here.
_HEADER_LIMIT_BYTES = 100_000_000
_READ_LIMIT_BYTES = 16_000_000
_DIMENSIONS_LIMIT = 64
_POINTER = b"version https://git-lfs.github.com/spec"


# Bits of one element, by the format's names.
_BITS = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFile:
    """One weight file: what is wrong with it, and its tensors' shapes where its header tells them."""

    fault: str | None = None
    shapes: Shapes = field(default_factory=dict)


def read_weight_file(path: Path) -> WeightFile:
    """A weight file of any format; its fault: not there, empty, a pointer in its place, cut short, broken."""
    try:
        with open_regular(path) as stream:
            size_bytes = os.fstat(stream.fileno()).st_size
            start = stream.read(len(_POINTER))
            if size_bytes == 0:
                return WeightFile(fault="is empty")
            if start == _POINTER:
                return WeightFile(fault="is a Git LFS pointer, not weights: run `git lfs pull` in its folder")
            if path.suffix != ".safetensors":
                return WeightFile()
            stream.seek(0)
            return _read_header(stream.read(8), stream, size_bytes)
    except UnreadableFileError as error:
        return WeightFile(fault=f"cannot be read: {error}")
    except OSError as error:
        return WeightFile(fault=f"cannot be read: {error.strerror}")


def _read_header(length: bytes, stream: BinaryIO, size_bytes: int) -> WeightFile:
    header_bytes = int.from_bytes(length, "little")
    if len(length) < 8 or header_bytes > min(_HEADER_LIMIT_BYTES, size_bytes - 8):
        return WeightFile(fault="is not a safetensors file or is cut short")
    if header_bytes > _READ_LIMIT_BYTES:
        return WeightFile()
    try:
        header = json.loads(stream.read(header_bytes))
        tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
        ends = [int(entry["data_offsets"][1]) for entry in tensors.values()]
        faults = [fault for name, entry in tensors.items() if (fault := _tensor_fault(name, entry))]
        shapes = {name: tuple(entry["shape"]) for name, entry in tensors.items() if not faults}
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError):
        return WeightFile(fault="has a safetensors header that cannot be read")
    if faults:
        return WeightFile(fault=faults[0])
    expected_bytes = 8 + header_bytes + max(ends, default=0)
    if expected_bytes > size_bytes:
        return WeightFile(fault=f"is cut short: {format_bytes(size_bytes)} of {format_bytes(expected_bytes)}")
    return WeightFile(shapes=shapes)


def _tensor_fault(name: str, entry: dict[str, Any]) -> str | None:
    """What the format's own reader would refuse in one tensor's entry; raises where it has not its form."""
    shown, dtype, shape, (begin, end) = one_line(name), entry["dtype"], entry["shape"], entry["data_offsets"]
    bits = _BITS.get(dtype)
    if bits is None:
        return f"has the tensor `{shown}` of the unknown dtype `{one_line(str(dtype), limit=40)}`"
    sizes = [*shape, begin, end]
    if not all(isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**64 for size in sizes):
        return f"has the tensor `{shown}` with an impossible shape or place"
    if len(shape) > _DIMENSIONS_LIMIT or math.prod(shape) * bits != (end - begin) * 8:
        return f"has the tensor `{shown}` whose shape and dtype do not make up its {end - begin} bytes"
    return None
