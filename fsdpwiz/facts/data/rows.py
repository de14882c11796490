"""Whether a row is one the training method can learn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.regular_file import json_kind
from fsdpwiz.methods.method import DataFormat

# What a column has to hold: text in the format of this name, whatever its column is called; else by
# the column's name, whatever the method. Others are not looked into.
_TEXT_FORMAT = "text"
_MESSAGES = frozenset({"messages"})
_TEXT_OR_MESSAGES = frozenset({"prompt", "completion", "chosen", "rejected"})


def filled_columns(row: Mapping[str, Any]) -> frozenset[str]:
    """The columns of a row that are not null."""
    return frozenset(name for name, value in row.items() if value is not None)


def find_format(columns: frozenset[str], formats: Sequence[DataFormat]) -> DataFormat | None:
    """The first of the method's formats whose columns are all there."""
    return next((known for known in formats if columns.issuperset(known.columns)), None)


def row_fault(value: Any, formats: Sequence[DataFormat], expected: DataFormat | None) -> str | None:
    """What is wrong with one row; `expected` is the format of the rows before it."""
    if not isinstance(value, dict):
        return f"the row is {json_kind(value)}, not an object"
    columns = filled_columns(value)
    found = find_format(columns, formats)
    if formats and found is None:
        return _format_fault(value, columns, formats)
    if found is None:
        return None
    if expected is not None and found != expected:
        return f"the row has {_names(found.columns)} where the rows before have {_names(expected.columns)}"
    return content_fault(value, found)


def _format_fault(row: Mapping[str, Any], filled: frozenset[str], formats: Sequence[DataFormat]) -> str:
    """What the row lacks of the format that it comes nearest to."""

    def nearness(known: DataFormat) -> tuple[int, int]:
        return len(filled.intersection(known.columns)), len(row.keys() & set(known.columns))

    nearest = max(formats, key=nearness)
    if nearness(nearest) == (0, 0):
        return f"the row has {_names(filled)}, not {_wanted(formats)}"
    lacking = next(name for name in nearest.columns if name not in filled)
    shown = one_line(lacking, limit=40)
    return f"`{shown}` is null" if lacking in row else f"the row has no `{shown}`"


def content_fault(row: Mapping[str, Any], found: DataFormat) -> str | None:
    """What is wrong inside the columns of the row's format."""
    kinds = set()
    for name in found.columns:
        value = row[name]
        if name in _TEXT_OR_MESSAGES:
            kinds.add(type(value))
        fault = _column_fault(name, value, is_text=found.name == _TEXT_FORMAT)
        if fault is not None:
            return fault
    if len(kinds) > 1:
        return f"{_names(found.columns)} are not of one kind: both text, or both lists of messages"
    return None


def _column_fault(name: str, value: Any, *, is_text: bool) -> str | None:
    if name in _MESSAGES or (name in _TEXT_OR_MESSAGES and isinstance(value, list)):
        return _messages_fault(name, value)
    if (is_text or name in _TEXT_OR_MESSAGES) and not isinstance(value, str):
        return f"`{name}` is {json_kind(value)}, not text"
    return None


def _messages_fault(name: str, value: Any) -> str | None:
    if not isinstance(value, list):
        return f"`{name}` is {json_kind(value)}, not a list of messages"
    if not value:
        return f"`{name}` is an empty list"
    return next(
        (fault for index, item in enumerate(value) if (fault := _message_fault(f"{name}[{index}]", item))),
        None,
    )


def _message_fault(place: str, message: Any) -> str | None:
    if not isinstance(message, dict):
        return f"`{place}` is {json_kind(message)}, not an object with `role` and `content`"
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str) or not role:
        return (
            f"`{place}` has no `role`" if role is None else f"`{place}.role` is {json_kind(role)}, not text"
        )
    if content is None:
        return None if message.get("tool_calls") else f"`{place}` has no `content`"
    if not isinstance(content, str | list):
        return f"`{place}.content` is {json_kind(content)}, not text"
    return None


def _wanted(formats: Sequence[DataFormat]) -> str:
    return ", or ".join(" with ".join(f"`{name}`" for name in known.columns) for known in formats)


def _names(columns: Iterable[str]) -> str:
    names = [f"`{one_line(name, limit=40)}`" for name in sorted(columns)]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (", ".join(names[:5]) + more) or "no column"
