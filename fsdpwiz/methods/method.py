"""What recipe, plan and trainer need to know of a training method, and the methods found by file."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFormat:
    """A data shape a method can train on: its name and the columns that show it.

    `column_key` is the method's upstream key that gives the one column another name.
    """

    name: str
    columns: tuple[str, ...]
    column_key: str | None = None

    def named(self, section: Mapping[str, Any]) -> DataFormat:
        """This format with the column that the method's section names."""
        column = section.get(self.column_key) if self.column_key else None
        return replace(self, columns=(column,)) if isinstance(column, str) else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A training method; `section` is the recipe section with the keys of its upstream config.

    The one with `default` trains a recipe that has no method section. `config_class` and
    `trainer_class` are dotted paths, imported by the trainer only.
    """

    section: str
    title: str
    config_class: str
    trainer_class: str
    data_formats: tuple[DataFormat, ...]
    models_in_memory: tuple[str, ...] = ("policy",)
    default: bool = False

    def data_format(self, columns: frozenset[str]) -> DataFormat | None:
        """The first format whose columns are all there."""
        return next((known for known in self.data_formats if columns.issuperset(known.columns)), None)


@cache
def methods() -> dict[str, Method]:
    """All methods by their recipe section: every module of this package that has a METHOD."""
    package = importlib.import_module(__package__)
    names = (name for _, name, _ in pkgutil.iter_modules(package.__path__))
    found = (importlib.import_module(f"{__package__}.{name}") for name in names)
    return {module.METHOD.section: module.METHOD for module in found if hasattr(module, "METHOD")}


def method_of(sections: Container[str]) -> Method:
    """The method whose section is in `sections`, else the default one."""
    known = methods().values()
    return next((method for method in known if method.section in sections), None) or next(
        method for method in known if method.default
    )
