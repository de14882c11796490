"""A recipe as read: its settings, the origin of every given key, and the faults met on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsdpwiz.core.origin import Origin
from fsdpwiz.core.problem import Problem

if TYPE_CHECKING:
    from fsdpwiz.recipe.schema.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What the user wants.

    `settings` is the validated pydantic tree; keys that were faulty are left out of it and stand
    in `problems`. `given` holds the same as plain nested values, only what somebody wrote.
    `origins` maps every given dotted key ("sft.max_length", and sections) to its origin.
    `overrides` are the command line's, as written.
    """

    settings: Settings
    given: Mapping[str, Any]
    origins: Mapping[str, Origin]
    problems: tuple[Problem, ...] = ()
    path: Path | None = None
    text: str = ""
    overrides: tuple[str, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)

    def has(self, key: str) -> bool:
        """Whether somebody wrote this dotted key (an explicit null counts)."""
        return key in self.origins

    def value(self, key: str, default: Any = None) -> Any:
        """The given plain value of a dotted key, or `default`."""
        node: Any = self.given
        for part in key.split("."):
            if not isinstance(node, Mapping) or part not in node:
                return default
            node = node[part]
        return node
