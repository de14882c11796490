"""The tables of legal upstream keys; `scripts/generate_upstream.py` writes them from the libraries.

A table is chosen by the installed version of its package: the same version, else the newest
with the same major and minor number, else (also where nothing is installed) the newest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fsdpwiz.methods.method import methods

_DATA = Path(__file__).parent / "data"
_BOUNDS = _DATA / "bounds.json"

METHOD = "method"
"""The name in the hand-kept tables (bounds, renames, owners) that stands for every method's section."""

SECTIONS = (*methods(), "fsdp", "peft", "quantization", "parallelism")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamField:
    """One legal key: `type` in the generator's words ("int | null"), default and choices as plain values.

    `choices` is empty where any value of the type is legal; a choice with "[…]" in it stands for
    any number there. `minimum`, `above` and `maximum` bound numbers; they are ours, upstream checks late.
    """

    name: str
    type: str
    default: Any
    choices: tuple[Any, ...] = ()
    help: str = ""
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The legal keys of one section under one version of `package`; `source` is where they come from."""

    section: str
    source: str
    package: str
    version: str
    fields: Mapping[str, UpstreamField]


@cache
def table(section: str) -> Table:
    """The table of `section` that fits what is installed; KeyError for a section that is not upstream's."""
    if section not in SECTIONS:
        raise KeyError(section)
    document = json.loads(_choose(sorted((_DATA / section).glob("*.json"))).read_text(encoding="utf-8"))
    bounds = _bounds().get(METHOD if section in methods() else section, {})
    found = {
        name: UpstreamField(
            name=name,
            type=field["type"],
            default=field["default"],
            choices=tuple(field.get("choices", ())),
            help=field["help"],
            **bounds.get(name, {}),
        )
        for name, field in document["fields"].items()
    }
    return Table(
        section=section,
        source=document["source"],
        package=document["package"],
        version=document["version"],
        fields=MappingProxyType(found),
    )


def fields(section: str) -> Mapping[str, UpstreamField]:
    """The legal keys of `section` by name, e.g. `fields("sft")["max_length"].default` is 1024."""
    return table(section).fields


def versions() -> dict[str, str]:
    """The package versions whose tables are in use, e.g. {"trl": "1.16.0"}."""
    return {table(section).package: table(section).version for section in SECTIONS}


def _choose(candidates: list[Path]) -> Path:
    by_version = {path.stem.rpartition("-")[2]: path for path in candidates}
    newest = sorted(by_version, key=_ordered)
    installed = _installed(candidates[0].stem.rpartition("-")[0])
    alike = [known for known in newest if installed and _ordered(known)[:2] == _ordered(installed)[:2]]
    chosen = installed if installed in by_version else (alike or newest)[-1]
    return by_version[chosen]


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _ordered(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


@cache
def _bounds() -> dict[str, dict[str, dict[str, float]]]:
    document: dict[str, dict[str, dict[str, float]]] = json.loads(_BOUNDS.read_text(encoding="utf-8"))
    return document
