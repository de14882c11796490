"""Rows of a file with one JSON value a line, each line judged by itself."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from fsdpwiz.facts.data.json_decoder import DECODER, after_blanks, check_text, message_of
from fsdpwiz.facts.data.sample import VALUE_LIMIT_BYTES, Broken, Budget, Row


def read_lines(stream: BinaryIO, budget: Budget) -> Iterator[Row | Broken]:
    """The rows and broken lines of `stream` from its start, while `budget` lasts."""
    line = 0
    while not budget.spent and (raw := stream.readline(VALUE_LIMIT_BYTES + 1)):
        line += 1
        budget.bytes -= len(raw)
        if len(raw) > VALUE_LIMIT_BYTES:
            budget.stop_at_long_value(line)
            return
        text = raw.removeprefix(codecs.BOM_UTF8) if line == 1 else raw
        if text.strip():
            yield from _values(text, line)


def _values(raw: bytes, line: int) -> Iterator[Row | Broken]:
    try:
        text = raw.decode("utf-8").rstrip(" \t\r\n")
        values = _decoded(text)
        check_text(text, values)
    except (ValueError, RecursionError) as error:
        yield Broken(line=line, message=_worded(error, raw))
        return
    for value in values:
        yield Row(line=line, value=value)


def _decoded(text: str) -> list[Any]:
    """The values on a line: one, or several set apart by blanks, which `datasets` also takes."""
    try:
        return [DECODER.decode(text)]
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
    values, position = [], after_blanks(text, 0)
    while position < len(text):
        value, position = DECODER.raw_decode(text, position)
        values.append(value)
        position = after_blanks(text, position)
    return values


def _worded(error: Exception, raw: bytes) -> str:
    if isinstance(error, json.JSONDecodeError) and raw.rstrip().endswith((b"},", b"],")):
        return "not JSON: a comma after the value; a .jsonl file has one value a line and nothing between"
    return message_of(error)
