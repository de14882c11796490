"""The shipped recipes: found by file, with the title that their first comment gives."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_PACKAGE = Path(__file__).resolve().parent.parent
_HEAD_BYTES = 4096


class Shipped(NamedTuple):
    """A recipe that comes with the package."""

    name: str
    path: Path
    title: str


def recipes_folder() -> Path:
    """The folder of the shipped recipes: in the installed package, else in the source tree."""
    installed = _PACKAGE / "shipped_recipes"
    return installed if installed.is_dir() else _PACKAGE.parent / "recipes"


def shipped() -> list[Shipped]:
    """All shipped recipes by name; reads the first line of each, and no YAML."""
    folder = recipes_folder()
    paths = sorted(path for path in folder.iterdir() if path.suffix == ".yaml") if folder.is_dir() else []
    return [Shipped(path.stem, path, _title(path)) for path in paths]


def _title(path: Path) -> str:
    with path.open("rb") as stream:
        line = stream.read(_HEAD_BYTES).partition(b"\n")[0]
    return line.decode("utf-8", errors="replace").lstrip("#").strip()
