"""Legal names near an unknown one: a renamed key's new name, another tool's word, the closest spelling."""

from __future__ import annotations

import json
from collections.abc import Collection
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from fsdpwiz.methods.method import methods
from fsdpwiz.recipe.upstream import METHOD

_DATA = Path(__file__).parent / "upstream" / "data"
_RENAMES = _DATA / "renames.json"
_VALUES = _DATA / "values.json"
_PREFIXES = {"fsdp": "fsdp_", "parallelism": "parallelism_config_"}
_NAME_CHARACTERS = 100


def nearest(section: str, name: str, legal: Collection[str]) -> str | None:
    """The legal name of `section` ("" for the top level) that an unknown `name` most likely means."""
    name = name[:_NAME_CHARACTERS]
    renamed = _read(_RENAMES).get(METHOD if section in methods() else section, {}).get(name)
    for candidate in (renamed, name.removeprefix(_PREFIXES.get(section, "\0"))):
        if candidate in legal:
            return candidate
    lower = {key.lower(): key for key in legal}
    simple = name.lower().replace("-", "_")
    if simple in lower:
        return lower[simple]
    close = get_close_matches(simple, lower, n=1)
    return lower[close[0]] if close else None


def nearest_value(key: str, spelled: object, legal: Collection[object]) -> object | None:
    """The legal value of a dotted key that `spelled` most likely means: another library's word, or a typo."""
    if not isinstance(spelled, str):
        return None
    simple = spelled[:_NAME_CHARACTERS].lower()
    if (said := _read(_VALUES).get(key, {}).get(simple)) in legal:
        return said
    by_word = {str(value).lower(): value for value in legal}
    close = get_close_matches(simple.replace("-", "_"), by_word, n=1)
    return by_word[close[0]] if close else None


@cache
def _read(path: Path) -> dict[str, dict[str, Any]]:
    document: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return document
