"""What recipe, plan and trainer need to know of a training method, and the methods found by file."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFormat:
    """A data shape a method can train on: its name and the columns that show it."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A training method; `section` is the recipe section with the keys of its upstream config.

    `config_class` and `trainer_class` are dotted paths, imported by the trainer only.
    """

    section: str
    title: str
    config_class: str
    trainer_class: str
    data_formats: tuple[DataFormat, ...]
    models_in_memory: tuple[str, ...] = ("policy",)

    def data_format(self, columns: frozenset[str]) -> DataFormat | None:
        """The first format whose columns are all there."""
        return next((known for known in self.data_formats if columns.issuperset(known.columns)), None)


@cache
def methods() -> dict[str, Method]:
    """All methods by their recipe section: every module of this package that has a METHOD."""
    package = importlib.import_module(__package__)
    found = (importlib.import_module(f"{__package__}.{name}") for _, name, _ in pkgutil.iter_modules(package.__path__))
    return {module.METHOD.section: module.METHOD for module in found if hasattr(module, "METHOD")}
