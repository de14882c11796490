"""JSON as the `datasets` library reads it: no duplicate keys, no half surrogate pairs."""

from __future__ import annotations

import json
import re
from typing import Any

from fsdpwiz.facts.one_line import one_line


class BadJSONError(ValueError):
    """A value that Python would take and `datasets` would not."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadJSONError(f"the key `{one_line(twice, limit=40)}` stands twice in one object")
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_object)


_BLANKS = re.compile(r"[ \t\r\n]*")


def after_blanks(text: str, position: int) -> int:
    """The position of the first character from `position` on that is no JSON white space."""
    found = _BLANKS.match(text, position)
    return found.end() if found else position


def check_text(source: str, value: Any) -> None:
    """Raise BadJSONError where `source` writes half of a surrogate pair, which no UTF-8 text can hold."""
    if "\\ud" not in source and "\\uD" not in source:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise BadJSONError("an escape `\\uD8…` without its other half is not text") from None


def message_of(error: Exception) -> str:
    """What is wrong, in words, for the errors that decoding raises."""
    if isinstance(error, json.JSONDecodeError):
        what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        return f"not JSON: {what} at column {error.colno}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text (byte {error.start + 1})"
    return str(error) if isinstance(error, BadJSONError) else f"not JSON: {one_line(str(error), limit=120)}"
