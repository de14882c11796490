"""Facts as plain values, for JSON documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def to_json(value: Any) -> Any:
    """`value` with records as mappings, paths as text, sets sorted and tuples as lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(to_json(item) for item in value)
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value
