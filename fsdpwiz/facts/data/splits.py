"""Which files of a folder belong to which split, by the name patterns of the `datasets` library."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

_KEYWORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
# `datasets` writes this class as [-._ 0-9].
_SEPARATOR = "[-._ 0-9]"
_SHARDED = re.compile(r"data/(?P<split>\w+(?:\.\w+)*)-[0-9]{5}-of-[0-9]{5}[^/]*\.[^/]*")
_SPLIT_NAME = re.compile(r"\s*(\w+(?:\.\w+)*)")


def files_by_split(names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """File names relative to their folder, with "/" between parts, by split.

    The first way to tell splits apart that finds any wins: shards in data/, folder names, file
    names; else all files are `train`. Files that a way does not place are left out, as upstream.
    """
    for found in (_by_shards(names), _by_keyword(names, _in_folder_name), _by_keyword(names, _in_file_name)):
        if found:
            return found
    return {"train": tuple(names)} if names else {}


def split_names(split: str) -> tuple[str, ...]:
    """The splits that an expression like "train[:10%]+test" draws on."""
    found = (_SPLIT_NAME.match(part) for part in split.split("+"))
    return tuple(match.group(1) for match in found if match)


def _by_shards(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name in names:
        match = _SHARDED.fullmatch(name)
        if match:
            found.setdefault(match.group("split"), []).append(name)
    return {split: tuple(members) for split, members in found.items()}


def _by_keyword(names: Sequence[str], holds: Callable[[str, str], bool]) -> dict[str, tuple[str, ...]]:
    found = {
        split: tuple(name for name in names if any(holds(name, keyword) for keyword in keywords))
        for split, keywords in _KEYWORDS.items()
    }
    return {split: members for split, members in found.items() if members}


def _in_folder_name(name: str, keyword: str) -> bool:
    pattern = re.compile(rf"(?:.*{_SEPARATOR})?{keyword}(?:{_SEPARATOR}.*)?")
    return any(pattern.fullmatch(part) for part in PurePosixPath(name).parts[:-1])


def _in_file_name(name: str, keyword: str) -> bool:
    return re.search(rf"(?:^|{_SEPARATOR}){keyword}{_SEPARATOR}", PurePosixPath(name).name) is not None
