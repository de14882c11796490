"""Columns and row count of Parquet files, from their schema; needs pyarrow, which comes with `datasets`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsdpwiz.facts.data.rows import find_format
from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.regular_file import UnreadableFileError, open_regular
from fsdpwiz.methods.method import DataFormat

_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFacts:
    """Of all files together; `columns` are those every file has."""

    columns: frozenset[str] = frozenset()
    rows: int | None = None
    format: DataFormat | None = None
    problem: str | None = None
    unchecked: str | None = "of Parquet files only the columns are looked at, not the rows"


def read_parquet(files: Sequence[Path], formats: Sequence[DataFormat]) -> ParquetFacts:
    """What the schemas of `files` show."""
    for path in files:
        problem = _not_parquet(path)
        if problem is not None:
            return ParquetFacts(problem=f"`{one_line(path.name, limit=80)}` {problem}")
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        return ParquetFacts(unchecked="reading Parquet needs `pyarrow`, which is not installed here")
    schemas, rows = [], 0
    for path in files:
        try:
            with parquet.ParquetFile(path) as opened:
                schemas.append(opened.schema_arrow)
                rows += opened.metadata.num_rows
        except (OSError, ValueError, RuntimeError, MemoryError) as error:
            return ParquetFacts(
                problem=f"`{one_line(path.name, limit=80)}` cannot be read: {_first_line(error)}"
            )
    return _judged(schemas, rows, formats)


def _judged(schemas: list[Any], rows: int, formats: Sequence[DataFormat]) -> ParquetFacts:
    columns = frozenset.intersection(*(frozenset(schema.names) for schema in schemas))
    found = find_format(columns, formats)
    needed = found.columns if found else ()
    is_text = found is not None and found.name == "text"
    faults = [_type_fault(schema, name, is_text=is_text) for schema in schemas for name in needed]
    problem = "no rows" if rows == 0 else next((fault for fault in faults if fault), None)
    return ParquetFacts(columns=columns, rows=rows, format=found, problem=problem)


def _type_fault(schema: Any, name: str, *, is_text: bool) -> str | None:
    """What is wrong with a column's type; columns the method does not need are not judged."""
    types = importlib.import_module("pyarrow.types")
    kind = schema.field(name).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    holds_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    holds_list = types.is_list(kind) or types.is_large_list(kind)
    if name == "messages" and not holds_list:
        return f"the column `messages` is {kind}, not a list of messages"
    if is_text and not holds_text:
        return f"the column `{one_line(name, limit=40)}` is {kind}, not text"
    if not holds_text and not holds_list:
        return f"the column `{one_line(name, limit=40)}` is {kind}, neither text nor a list of messages"
    return None


def _not_parquet(path: Path) -> str | None:
    try:
        with open_regular(path) as stream:
            start = stream.read(4)
            stream.seek(0, 2)
            if stream.tell() < 12:
                return "is empty or cut short"
            stream.seek(-4, 2)
            return None if start == _MAGIC and stream.read(4) == _MAGIC else "is not a whole Parquet file"
    except (UnreadableFileError, OSError) as error:
        return f"cannot be read: {error}"


def _first_line(error: Exception) -> str:
    return one_line(str(error).partition("\n")[0], limit=120) or type(error).__name__
