"""A fault met while reading or resolving, as data; the rule of the same code words it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A fault, the code of the rule that describes it, where it is, and its particulars.

    `detail` holds what the rule's message needs, e.g. {"legal": [...], "nearest": "max_length"}.
    """

    code: str
    key: str | None = None
    file: str | None = None
    line: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
