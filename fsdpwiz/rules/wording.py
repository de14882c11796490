"""Words that several rules' messages share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_LISTED = 12
_VALUE_CHARACTERS = 80
_PATH_CHARACTERS = 1000


def listed(values: Iterable[Any], *, joint: str = "or") -> str:
    """Literals in backticks: "`a`, `b` or `c`"; a long list is cut, with the number left out."""
    words = [f"`{literal(value)}`" for value in values]
    if len(words) > _LISTED:
        return ", ".join(words[:_LISTED]) + f" and {len(words) - _LISTED} more"
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def literal(value: Any) -> str:
    """A value as YAML writes it, cut where it is long; a path is whole, for somebody has to find it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    limit = _PATH_CHARACTERS if "/" in text else _VALUE_CHARACTERS
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def counted(number: int, noun: str) -> str:
    """ "1 rank", "2 ranks", "1,000 rows"; a plural other than with s stands in `noun` after a slash."""
    singular, _, plural = noun.partition("/")
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def section(key: str | None) -> str:
    """The section of a dotted key, "" for a top-level one."""
    return (key or "").rpartition(".")[0]


def leaf(key: str | None) -> str:
    """The last part of a dotted key."""
    return (key or "").rpartition(".")[2]
