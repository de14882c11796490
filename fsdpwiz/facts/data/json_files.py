"""Columns, rows and first faults of JSON files, lines or lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from fsdpwiz.facts.data.json_document import holds_list, read_document, spans_lines
from fsdpwiz.facts.data.json_lines import read_lines
from fsdpwiz.facts.data.line_count import count_filled_lines
from fsdpwiz.facts.data.rows import filled_columns, find_format, row_fault
from fsdpwiz.facts.data.sample import BYTES_LIMIT, ROWS_LIMIT, Broken, Budget, Row
from fsdpwiz.facts.one_line import one_line
from fsdpwiz.facts.regular_file import UnreadableFileError, open_regular
from fsdpwiz.facts.types import DataFault
from fsdpwiz.methods.method import DataFormat

_START_BYTES = 2**20


class JsonSample:
    """What a bounded look at the files of one data set shows."""

    def __init__(
        self, formats: Sequence[DataFormat], *, rows_limit: int = ROWS_LIMIT, bytes_limit: int = BYTES_LIMIT
    ) -> None:
        self._formats = formats
        self._budget = Budget(rows=rows_limit, bytes=bytes_limit)
        self.columns: frozenset[str] | None = None
        self.format: DataFormat | None = None
        self.faults: list[DataFault] = []
        self.rows: int | None = 0
        self.rows_checked = 0
        self.problem: str | None = None

    @property
    def unchecked(self) -> str | None:
        """Why not every row was looked at."""
        if self._budget.stopped is not None:
            return self._budget.stopped
        if self._budget.faults <= 0:
            return f"the first {len(self.faults)} faults are named, the rest was not looked at"
        if self._budget.spent:
            return f"only the first {self.rows_checked} rows were looked at"
        return None

    def add(self, path: Path) -> None:
        """Look at one more file; its rows are counted even when the budget is spent."""
        try:
            with open_regular(path) as stream:
                self._look(path, stream)
        except (UnreadableFileError, OSError) as error:
            self.problem = self.problem or f"`{one_line(path.name, limit=80)}` cannot be read: {error}"

    def _look(self, path: Path, stream: BinaryIO) -> None:
        start = stream.read(_START_BYTES)
        is_list = holds_list(start)
        by_line = not is_list and not spans_lines(start)
        stream.seek(0)
        checked_before = self.rows_checked
        if not self._budget.spent:
            found = (
                read_lines(stream, self._budget)
                if by_line
                else read_document(stream, self._budget, is_list=is_list)
            )
            self._judge(path, found)
        whole = not self._budget.spent or (by_line and not stream.read(1))
        count: int | None = self.rows_checked - checked_before
        if not whole:
            stream.seek(0)
            count = count_filled_lines(stream) if by_line else None
        self.rows = None if self.rows is None or count is None else self.rows + count

    def _judge(self, path: Path, found: Iterator[Row | Broken]) -> None:
        for item in found:
            if isinstance(item, Row):
                self._budget.rows -= 1
                self.rows_checked += 1
                message = row_fault(item.value, self._formats, self.format)
            else:
                message = item.message
            if message is not None:
                self._budget.faults -= 1
                self.faults.append(DataFault(file=path, line=item.line, message=message))
            elif isinstance(item, Row):
                self._learn(item)
            if self._budget.spent:
                break

    def _learn(self, row: Row) -> None:
        columns = filled_columns(row.value)
        self.columns = columns if self.columns is None else self.columns & columns
        self.format = self.format or find_format(columns, self._formats)
