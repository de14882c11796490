"""Whether the script of a recipe is there, and what its name may have been meant for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from fsdpwiz.facts.local_path import with_home
from fsdpwiz.facts.regular_file import UnreadableFileError, open_regular
from fsdpwiz.facts.types import Script

_FILES_LIMIT = 10_000
_NAME_CHARACTERS = 255


def read_script(name: str, *, base_folders: Sequence[Path]) -> Script:
    """What is known of the script that a recipe names; it is opened, not read.

    A relative name is looked for in `base_folders` in turn.
    """
    path = with_home(Path(name))
    candidates = [path] if path.is_absolute() else [folder / path for folder in base_folders or (Path(),)]
    found = next((candidate for candidate in candidates if _exists(candidate)), None)
    problem = _problem(found)
    nearest = None if problem is None else _nearest(name, candidates)
    return Script(source="measured", path=found, problem=problem, nearest=nearest)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _problem(path: Path | None) -> str | None:
    if path is None:
        return "no such file"
    if path.is_dir():
        return "a folder, not a file"
    try:
        open_regular(path).close()
    except UnreadableFileError as error:
        return str(error)
    return None


def _nearest(name: str, candidates: Sequence[Path]) -> str | None:
    """The file beside one of `candidates` whose name is closest, written as `name` is."""
    for candidate in candidates:
        close = get_close_matches(candidate.name[:_NAME_CHARACTERS], _files(candidate.parent), n=1)
        if close:
            return str(Path(name).parent / close[0])
    return None


def _files(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in islice(entries, _FILES_LIMIT) if entry.is_file())
    except (OSError, ValueError):
        return []
