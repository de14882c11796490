"""Several sources of settings as one: what comes later wins, key by key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fsdpwiz.core.origin import Origin
from fsdpwiz.recipe.check import Checked


def merge(sources: Iterable[Checked]) -> tuple[dict[str, Any], dict[str, Origin]]:
    """Values and origins of all `sources`, weakest first. Mappings are merged, anything else is replaced."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for source in sources:
        _merge(values, origins, source.values, source.origins, "")
    return values, origins


def _merge(
    values: dict[str, Any],
    origins: dict[str, Origin],
    stronger: dict[str, Any],
    stronger_origins: dict[str, Origin],
    prefix: str,
) -> None:
    for name, value in stronger.items():
        key = f"{prefix}{name}"
        there = values.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            _merge(there, origins, value, stronger_origins, f"{key}.")
            _section_origin(key, origins, stronger_origins)
            continue
        for old in [known for known in origins if known == key or known.startswith(f"{key}.")]:
            del origins[old]
        values[name] = _copy(value)
        origins |= {
            known: origin
            for known, origin in stronger_origins.items()
            if known == key or known.startswith(f"{key}.")
        }


def _section_origin(key: str, origins: dict[str, Origin], stronger_origins: dict[str, Origin]) -> None:
    """A section stays where the recipe has it; one value within does not move it to the command line."""
    recipe_has_it = key in origins and origins[key].source == "recipe"
    if key in stronger_origins and not recipe_has_it:
        origins[key] = stronger_origins[key]


def _copy(value: Any) -> Any:
    return {name: _copy(inner) for name, inner in value.items()} if isinstance(value, dict) else value
