"""What has been decided so far: every value picked from a recipe leaves its origin here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsdpwiz.core.origin import Origin, Source
from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Knowledge
from fsdpwiz.recipe import upstream
from fsdpwiz.recipe.types import Recipe

OURS = "fsdpwiz"

SOURCES: dict[Knowledge, Source] = {
    "measured": "measured",
    "catalogued": "catalogued",
    "declared": "derived",
}


class Choices:
    """The record of one resolution: origins by dotted key, and the problems met."""

    def __init__(self, recipe: Recipe, versions: Mapping[str, str]) -> None:
        self.recipe = recipe
        self.versions = {**upstream.versions(), **versions}
        self.origins: dict[str, Origin] = {}
        self.problems: list[Problem] = []

    def library(self, name: str) -> str:
        """`name` with its version where that is known, e.g. "trl 1.16.0"."""
        return f"{name} {self.versions[name]}" if name in self.versions else name

    def upstream_default(self, section: str, name: str) -> tuple[Any, str] | None:
        """The default of an upstream key and whose it is, None where upstream has no such key."""
        table = upstream.table(section)
        field = table.fields.get(name)
        return None if field is None else (field.default, f"{table.package} {table.version}")

    def given(self, key: str) -> Any:
        """The recipe's value of `key`, None where absent."""
        return self.recipe.value(key)

    def is_given(self, key: str) -> bool:
        """Whether the recipe gives `key` a value other than null."""
        return self.recipe.value(key) is not None

    def choose(self, key: str, default: Any, *, by: str = OURS, null_is_value: bool = False) -> Any:
        """The recipe's value of `key`, else `default`, which is `by`'s."""
        if self.is_given(key) or (null_is_value and self.recipe.has(key)):
            self.origins[key] = self.recipe.origins.get(key, Origin(source="recipe"))
            return self.recipe.value(key)
        return self.record(key, default, "default", by)

    def derive(self, key: str, value: Any, by: str) -> Any:
        """`value` for `key`, which follows from what `by` names."""
        return self.record(key, value, "derived", by)

    def record(self, key: str, value: Any, source: Source, by: str | None) -> Any:
        """`value` for `key`, with an origin of any other source."""
        self.origins[key] = Origin(source=source, by=by)
        return value

    def carry(self, key: str, value: Any, from_key: str) -> Any:
        """`value` for `key`, with the origin that `from_key` already has."""
        self.origins[key] = self.origins[from_key]
        return value

    def report(self, code: str, key: str, **detail: Any) -> None:
        """Note a problem at `key`; its line is where the recipe gives that key."""
        origin = self.recipe.origins.get(key)
        file, line = (origin.file, origin.line) if origin else (None, None)
        self.problems.append(Problem(code=code, key=key, file=file, line=line, detail=detail))
