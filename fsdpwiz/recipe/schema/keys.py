"""All dotted keys of a recipe, for looking up where a name is legal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from fsdpwiz.recipe.schema.annotation import section_of
from fsdpwiz.recipe.schema.part import Part
from fsdpwiz.recipe.schema.settings import Settings


@cache
def dotted_keys() -> tuple[str, ...]:
    """Every legal dotted key, sections included; entries of `env` and its like are free, not among them."""
    return tuple(_walk(Settings, ""))


@cache
def keys_by_name() -> dict[str, tuple[str, ...]]:
    """The dotted keys that end in a name, e.g. "max_length" to ("sft.max_length",)."""
    found: dict[str, tuple[str, ...]] = {}
    for key in dotted_keys():
        name = key.rpartition(".")[2]
        found[name] = (*found.get(name, ()), key)
    return found


def _walk(model: type[Part], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        if (inner := section_of(field)) is not None:
            yield from _walk(inner, f"{prefix}{name}.")
