"""Rows of a file that is one JSON list, or values that span lines, read piece by piece."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from fsdpwiz.facts.data.json_decoder import DECODER, BadJSONError, after_blanks, check_text, message_of
from fsdpwiz.facts.data.sample import VALUE_LIMIT_BYTES, Broken, Budget, Row

_CHUNK_BYTES = 2**20
# A literal or an escape cut by the end of what was read is reported at most this far before it.
_CUT_CHARACTERS = 16


def read_document(stream: BinaryIO, budget: Budget, *, is_list: bool) -> Iterator[Row | Broken]:
    """The elements of a list, or the values one after the other; ends at the first broken place.

    As in `datasets`, a list of text stands for rows with one column `text`.
    """
    text = _Text(stream, budget)
    try:
        if is_list:
            yield from _elements(text, budget)
        else:
            yield from _values(text, budget)
    except _TooLongError:
        return
    except (ValueError, RecursionError) as error:
        yield Broken(line=text.line_of(error), message=message_of(error))


class _TooLongError(ValueError):
    """A value that the budget does not cover."""


def _values(text: _Text, budget: Budget) -> Iterator[Row]:
    while not budget.spent and text.peek():
        yield text.value()


def _elements(text: _Text, budget: Budget) -> Iterator[Row]:
    text.take("[")
    of_text = text.peek() == '"'
    if text.peek() == "]":
        text.take("]")
        return
    while not budget.spent:
        row = text.value()
        yield Row(line=row.line, value={"text": row.value}) if of_text and isinstance(row.value, str) else row
        if text.peek() == "]":
            text.take("]")
            if text.peek():
                raise BadJSONError("there is more after the end of the list")
            return
        text.take(",")


class _Text:
    """The part of a file that has been read and not yet been used, as text."""

    def __init__(self, stream: BinaryIO, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._buffer = ""
        self._position = 0
        self._line = 1
        self._ended = False

    def peek(self) -> str:
        """The next character that is no blank, "" at the end."""
        while True:
            self._advance(after_blanks(self._buffer, self._position))
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._more():
                return ""

    def take(self, character: str) -> None:
        if self.peek() != character:
            raise BadJSONError(f"not JSON: `{character}` is missing")
        self._advance(self._position + 1)

    def value(self) -> Row:
        """The next value; raises ValueError or RecursionError where there is none."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._buffer, self._position)
            except json.JSONDecodeError as error:
                if self._may_be_cut(error) and self._more():
                    continue
                raise
            if end == len(self._buffer) and self._more():
                continue
            check_text(self._buffer[self._position : end], value)
            row = Row(line=self._line, value=value)
            self._advance(end)
            return row

    def line_of(self, error: Exception) -> int:
        if isinstance(error, json.JSONDecodeError):
            return self._line + self._buffer.count("\n", self._position, error.pos)
        return self._line

    def _advance(self, position: int) -> None:
        self._line += self._buffer.count("\n", self._position, position)
        self._position = position

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        return error.pos >= len(self._buffer) - _CUT_CHARACTERS or error.msg.startswith("Unterminated string")

    def _more(self) -> bool:
        """Read on, twice as much each time a value is not complete; whether there was more."""
        if self._ended:
            return False
        self._buffer, self._position = self._buffer[self._position :], 0
        if len(self._buffer) > VALUE_LIMIT_BYTES:
            self._budget.stop_at_long_value(self._line)
            raise _TooLongError
        raw = self._stream.read(max(_CHUNK_BYTES, len(self._buffer)))
        self._budget.bytes -= len(raw)
        self._ended = not raw
        self._buffer += self._decode.decode(raw, final=self._ended)
        return True


def holds_list(start: bytes) -> bool:
    """Whether a file that begins like this is one JSON list."""
    return start.removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n").startswith(b"[")


def spans_lines(start: bytes) -> bool:
    """Whether the first value of a file goes on after its line, and is whole within `start`."""
    text = start.removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n").decode("utf-8", errors="replace")
    first_line, newline, _ = text.partition("\n")
    if not newline:
        return False
    try:
        DECODER.raw_decode(first_line)
    except json.JSONDecodeError as error:
        return error.pos >= len(first_line.rstrip()) and _begins_with_value(text)
    except (ValueError, RecursionError):
        return False
    return False


def _begins_with_value(text: str) -> bool:
    try:
        value: Any = DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return False
    return value is not None
