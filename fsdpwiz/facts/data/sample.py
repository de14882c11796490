"""How much of a data set is looked at for faults, and what one look yields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fsdpwiz.core.units import format_bytes

ROWS_LIMIT = 20_000
BYTES_LIMIT = 64 * 2**20
FAULTS_LIMIT = 20
VALUE_LIMIT_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One JSON value of a file and the 1-based line where it begins."""

    line: int
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A place in a file that is no JSON: its 1-based line and what is wrong there."""

    line: int
    message: str


@dataclass(slots=True, kw_only=True)
class Budget:
    """What is left to look at, shared by all files of a data set; `stopped` says why a look ended early."""

    rows: int = ROWS_LIMIT
    bytes: int = BYTES_LIMIT
    faults: int = FAULTS_LIMIT
    stopped: str | None = None

    @property
    def spent(self) -> bool:
        return self.stopped is not None or min(self.rows, self.bytes, self.faults) <= 0

    def stop_at_long_value(self, line: int) -> None:
        """Give up on a value that would take too much memory to look into; that is no fault of its own."""
        self.stopped = f"line {line} is longer than {format_bytes(VALUE_LIMIT_BYTES)}"
