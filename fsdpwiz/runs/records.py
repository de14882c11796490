"""Files of JSON lines that a run's processes append to, each process its own file.

A record is one JSON object on one line, written by one write, so a reader never sees half of it
unless the writer was killed or the disk was full. Readers take what is whole and skip the rest.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LINE_LIMIT_BYTES = 1 << 20
_READ_BYTES = 1 << 20


def append(path: Path, record: Mapping[str, Any], *, sync: bool = False) -> None:
    """Append `record` as one line; "time" (unix seconds) is added where it lacks.

    A number that JSON has no word for is written as the text "NaN", "Infinity" or "-Infinity".
    `sync` waits until the line is on the disk. Raises OSError where it cannot be written.
    """
    timed = record if "time" in record else {"time": round(time.time(), 3), **record}
    line = json.dumps(_plain(timed), ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o644)
    try:
        _write_whole(descriptor, line if _ends_whole(descriptor) else b"\n" + line)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_whole(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]


def _ends_whole(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def number(value: Any) -> float | None:
    """A recorded number, also one written as text ("NaN"); None where it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def read(path: Path) -> list[dict[str, Any]]:
    """Every whole record of a file; an absent file has none."""
    return list(iterate(path))


def iterate(path: Path) -> Iterator[dict[str, Any]]:
    """The whole records of a file one by one, in bounded memory."""
    tail = Tail(path)
    while records := tail.read():
        yield from records
    yield from tail.rest()


class Tail:
    """Follows one file: each `read` gives the records completed since the one before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._pending = b""
        self._skipping = False

    @classmethod
    def at_end(cls, path: Path, tail_bytes: int) -> Tail:
        """A tail that begins at the first whole line of the last `tail_bytes` of the file."""
        tail = cls(path)
        with contextlib.suppress(OSError):
            tail._offset = max(0, path.stat().st_size - tail_bytes)
            tail._skipping = tail._offset > 0
        return tail

    def read(self) -> list[dict[str, Any]]:
        """Records completed since the last call; empty only where nothing more is there."""
        while chunk := self._chunk():
            records = self._records(chunk)
            if records:
                return records
        return []

    def rest(self) -> list[dict[str, Any]]:
        """The last line, where it is whole but for its newline."""
        record = None if self._skipping else _parse(self._pending)
        return [] if record is None else [record]

    def _chunk(self) -> bytes:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return b""
            if status.st_size < self._offset:
                self._offset, self._pending, self._skipping = 0, b"", False
            chunk = os.pread(descriptor, _READ_BYTES, self._offset)
        except OSError:
            return b""
        finally:
            os.close(descriptor)
        self._offset += len(chunk)
        return chunk

    def _records(self, chunk: bytes) -> list[dict[str, Any]]:
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        if lines and self._skipping:
            lines, self._skipping = lines[1:], False
        if len(self._pending) > LINE_LIMIT_BYTES or self._skipping:
            self._pending, self._skipping = b"", True
        parsed = (_parse(line) for line in lines)
        return [record for record in parsed if record is not None]


def _parse(line: bytes) -> dict[str, Any] | None:
    if not line.strip() or len(line) > LINE_LIMIT_BYTES:
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
