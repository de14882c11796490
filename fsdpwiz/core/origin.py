"""Where a value comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Source = Literal["override", "recipe", "site", "measured", "catalogued", "derived", "default"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The source of one value; `by` says whose default or which rule derived it."""

    source: Source
    by: str | None = None
    file: str | None = None
    line: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"source": self.source, "by": self.by, "file": self.file, "line": self.line}
