"""Sections made from the tables of upstream keys."""

from __future__ import annotations

import re
from functools import cache, reduce
from typing import Annotated, Any

from pydantic import Field, create_model

from fsdpwiz.recipe.ownership import owned
from fsdpwiz.recipe.schema.part import Part, one_of
from fsdpwiz.recipe.upstream import SECTIONS, UpstreamField, fields

_KINDS: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "null": None,
    "any": Any,
    "dict": dict[str, Any],
    "true": one_of(True),
    "false": one_of(False),
}
_NUMBERS = ("int", "float")


class UpstreamSection(Part):
    """Keys of an upstream library, verbatim. An absent key reads None, not upstream's default."""

    def given(self) -> dict[str, Any]:
        """The keys that somebody wrote, an explicit null included."""
        return self.model_dump(exclude_unset=True)


@cache
def section_model(section: str) -> type[UpstreamSection]:
    """The model of one upstream section, without the keys whose meaning another section owns."""
    legal = {name: field for name, field in fields(section).items() if name not in owned(section)}
    definitions: dict[str, Any] = {name: (_annotation(field), _info(field)) for name, field in legal.items()}
    return create_model(f"{section.capitalize()}Section", __base__=UpstreamSection, **definitions)


def section_models() -> dict[str, type[UpstreamSection]]:
    """The models of all upstream sections."""
    return {section: section_model(section) for section in SECTIONS}


def annotation(words: str) -> Any:
    """The annotation that the words of a table mean, e.g. "list[int] | null"."""
    return _union([_kind(word) for word in _alternatives(words)])


def _annotation(field: UpstreamField) -> Any:
    kinds = [_bounded(_kind(word), word, field) for word in _alternatives(field.type)]
    if not field.choices:
        return _union(kinds)
    exact = tuple(choice for choice in field.choices if "[" not in str(choice))
    patterns = [
        Annotated[str, Field(pattern=_pattern(str(choice)))] for choice in field.choices if "[" in str(choice)
    ]
    bare = {type(choice) for choice in field.choices}
    others = [kind for kind in kinds if kind not in bare]
    return _union([one_of(*exact), *patterns, *others])


def _info(field: UpstreamField) -> Any:
    extra = {"default": field.default} if field.default is not None or "null" in field.type else {}
    return Field(default=None, description=field.help, json_schema_extra=extra)


def _bounded(kind: Any, word: str, field: UpstreamField) -> Any:
    bounds = {"ge": field.minimum, "gt": field.above, "le": field.maximum}
    given: dict[str, Any] = {name: bound for name, bound in bounds.items() if bound is not None}
    return Annotated[kind, Field(**given)] if given and word in _NUMBERS else kind


def _alternatives(words: str) -> list[str]:
    """The alternatives at the top level of "list[int | str] | null"."""
    return re.findall(r"list\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|\w+", words)


def _kind(word: str) -> Any:
    if word.startswith("list["):
        return list[annotation(word[5:-1])]  # type: ignore[misc]
    return _KINDS[word]


def _union(kinds: list[Any]) -> Any:
    return reduce(lambda left, right: left | right, kinds)


def _pattern(choice: str) -> str:
    """A pattern for a choice that stands for many, e.g. "pissa_niter_[number of iters]"."""
    return "^" + "[0-9]+".join(re.escape(part) for part in re.split(r"\[.*?\]", choice)) + "$"
