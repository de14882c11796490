"""Whether a safetensors file is whole, told from its header; no weight is read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from fsdpwiz.core.units import format_bytes
from fsdpwiz.facts.regular_file import UnreadableFileError, open_regular

# The format's own limit, and the one up to which a header is parsed here.
_HEADER_LIMIT_BYTES = 100_000_000
_READ_LIMIT_BYTES = 16_000_000
_POINTER = b"version https://git-lfs.github.com/spec"


def weights_fault(path: Path) -> str | None:
    """What is wrong with a weight file of any format: not there, empty, a pointer in its place, cut short."""
    try:
        with open_regular(path) as stream:
            size_bytes = os.fstat(stream.fileno()).st_size
            start = stream.read(len(_POINTER))
            if size_bytes == 0:
                return "is empty"
            if start == _POINTER:
                return "is a Git LFS pointer, not weights: run `git lfs pull` in its folder"
            if path.suffix != ".safetensors":
                return None
            stream.seek(0)
            return _header_fault(stream.read(8), stream, size_bytes)
    except UnreadableFileError as error:
        return f"cannot be read: {error}"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _header_fault(length: bytes, stream: Any, size_bytes: int) -> str | None:
    header_bytes = int.from_bytes(length, "little")
    if len(length) < 8 or header_bytes > min(_HEADER_LIMIT_BYTES, size_bytes - 8):
        return "is not a safetensors file or is cut short"
    if header_bytes > _READ_LIMIT_BYTES:
        return None
    try:
        header = json.loads(stream.read(header_bytes))
        tensors = [entry for name, entry in header.items() if name != "__metadata__"]
        end_bytes = max((int(entry["data_offsets"][1]) for entry in tensors), default=0)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError):
        return "has a safetensors header that cannot be read"
    expected_bytes = 8 + header_bytes + end_bytes
    if expected_bytes > size_bytes:
        return f"is cut short: {format_bytes(size_bytes)} of {format_bytes(expected_bytes)}"
    return None
