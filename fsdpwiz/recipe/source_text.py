"""A recipe file's text: a regular file, bounded, UTF-8, without control characters."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.core.problem import Problem
from fsdpwiz.core.units import format_bytes

MAX_BYTES = 1_000_000

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BYTE_ORDER_MARK = "\ufeff"


def read_text(path: Path) -> str:
    """The text of a recipe or site file; raises ProblemError with S011 (unreadable) or S013 (too large)."""
    content = _read_bytes(path)
    if len(content) > MAX_BYTES:
        raise ProblemError(Problem(code="S013", file=str(path), detail={"limit": format_bytes(MAX_BYTES)}))
    return decode(content, file=str(path))


def decode(content: bytes, *, file: str | None = None) -> str:
    """`content` as text; raises ProblemError with S011 and the line of the first bad byte."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise _unreadable(f"byte {byte:#04x} is not UTF-8 text", file, line) from None
    if found := _CONTROL.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise _unreadable(f"control character {ord(found[0]):#04x} is not text", file, line)
    return text.removeprefix(_BYTE_ORDER_MARK)


def _read_bytes(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _unreadable(_reason(error), str(path)) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _unreadable("it is not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(_reason(error), str(path)) from None
    finally:
        os.close(descriptor)


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "its name is not a path"


def _unreadable(reason: str, file: str | None, line: int | None = None) -> ProblemError:
    return ProblemError(Problem(code="S011", file=file, line=line, detail={"reason": reason}))
