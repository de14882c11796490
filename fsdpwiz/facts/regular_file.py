"""Files from outside, opened only when they are plain files and read only up to a bound."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

JSON_LIMIT_BYTES = 64 * 2**20
_KINDS = (
    (bool, "a truth value"),
    (int | float, "a number"),
    (str, "text"),
    (list, "a list"),
    (dict, "an object"),
)


class UnreadableFileError(Exception):
    """A file that is missing, no plain file, too large or not what it should be; the text says which."""


def open_regular(path: Path) -> BinaryIO:
    """`path` opened for reading bytes, unless it is a folder, pipe, socket or device (a link is followed)."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise UnreadableFileError("no such file") from None
    except (OSError, ValueError) as error:
        raise UnreadableFileError(getattr(error, "strerror", None) or str(error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnreadableFileError("not a plain file")
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, *, limit_bytes: int = JSON_LIMIT_BYTES) -> bytes:
    """All of a plain file of at most `limit_bytes`."""
    with open_regular(path) as stream:
        try:
            content = stream.read(limit_bytes + 1)
        except OSError as error:
            raise UnreadableFileError(error.strerror or "cannot be read") from None
    if len(content) > limit_bytes:
        raise UnreadableFileError(f"larger than {limit_bytes} bytes")
    return content


def read_json_object(path: Path, *, limit_bytes: int = JSON_LIMIT_BYTES) -> dict[str, Any]:
    """The JSON object that a plain file of at most `limit_bytes` holds."""
    content = read_bytes(path, limit_bytes=limit_bytes)
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UnreadableFileError("not UTF-8 text") from None
    except RecursionError:
        raise UnreadableFileError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise UnreadableFileError(f"not JSON: {error.msg} in line {error.lineno}") from None
    except ValueError as error:
        raise UnreadableFileError(f"not JSON: {error}") from None
    if not isinstance(document, dict):
        raise UnreadableFileError(f"holds {json_kind(document)}, not an object")
    return document


def json_kind(value: Any) -> str:
    """What a JSON value is, with its article: "a number", "an object", "text", "null"."""
    if value is None:
        return "null"
    kinds = (
        (bool, "a truth value"),
        (int | float, "a number"),
        (str, "text"),
        (list, "a list"),
        (dict, "an object"),
    )
    return next((words for kind, words in kinds if isinstance(value, kind)), type(value).__name__)
