"""The cases of tests/recipe/cases, read with another YAML reader than the one under test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

_FOLDER = Path(__file__).parent / "cases"


def cases(name: str) -> list[Any]:
    """The list of cases in `cases/NAME.yaml`."""
    return list(YAML(typ="safe", pure=True).load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def names(found: list[Any]) -> list[str]:
    """Test ids."""
    return [case["name"] for case in found]
