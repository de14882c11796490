"""Whether a name in a recipe means something on this disk or something on the hub."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

_HUB_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?")
_PATH_STARTS = ("/", "./", "../", "~")
_FILE_SUFFIXES = (".jsonl", ".json", ".parquet", ".csv", ".txt", ".arrow", ".gguf", ".gz", ".zst", ".xz")


def is_hub_id(value: str) -> bool:
    """Whether `value` has the form of a hub id: NAME or OWNER/NAME, and no file's suffix."""
    if ".." in value or "--" in value or len(value) > 96 or value.endswith(_FILE_SUFFIXES):
        return False
    return _HUB_ID.fullmatch(value) is not None


def find_local(value: str, base_folders: Sequence[Path]) -> Path | None:
    """The file or folder that `value` names: the first that exists in `base_folders` (none: here).

    None for what can only be a hub id; a path that does not exist is returned as it would be
    under the first of the folders, for the reader to report.
    """
    if "\0" in value:
        return None
    path = with_home(Path(value))
    candidates = [path] if path.is_absolute() else [folder / path for folder in base_folders or (Path(),)]
    found = next((candidate for candidate in candidates if _exists(candidate)), None)
    if found is not None:
        return found
    return candidates[0] if value.startswith(_PATH_STARTS) or not is_hub_id(value) else None


def with_home(path: Path) -> Path:
    """`path` with a leading `~` replaced by the user's home, where there is one."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _exists(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except (OSError, ValueError):
        return False
