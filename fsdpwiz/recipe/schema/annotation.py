"""What a field's annotation allows: its choices, its words, the section or the text it stands for."""

from __future__ import annotations

import types
import typing
from typing import Any, Literal

from pydantic.fields import FieldInfo

from fsdpwiz.recipe.schema.part import AsText, Part

_WORDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("true or false", "true or false"),
    str: ("text", "text"),
    dict: ("a mapping", "mappings"),
    Any: ("any value", "any values"),
}


def section_of(field: FieldInfo) -> type[Part] | None:
    """The model of a field that is a section."""
    kinds = (kind for kind in _alternatives(field.annotation) if isinstance(kind, type))
    return next((kind for kind in kinds if issubclass(kind, Part)), None)


def text_map(field: FieldInfo) -> AsText | None:
    """The mark of a field that is a mapping of names to text."""
    return next((mark for mark in field.metadata if isinstance(mark, AsText)), None)


def is_text_list(field: FieldInfo) -> bool:
    """Whether a field is a list whose items are taken as the text they are written as."""
    lists = (kind for kind in _alternatives(field.annotation) if typing.get_origin(kind) is list)
    return any(
        isinstance(mark, AsText)
        for kind in lists
        for item in typing.get_args(kind)
        for mark in typing.get_args(item)[1:]
    )


def choices_of(field: FieldInfo) -> tuple[Any, ...]:
    """All legal values but null, where they are a closed set; else empty. A pattern counts as closed."""
    found: list[Any] = []
    for kind in _alternatives(field.annotation, keep_metadata=True):
        bare, metadata = _split(kind)
        if typing.get_origin(bare) is Literal:
            found += typing.get_args(bare)
        elif bare is bool and found:
            found += [True, False]
        elif bare is not type(None) and not (bare is str and metadata):
            return ()
    return tuple(found)


def nullable(field: FieldInfo) -> bool:
    """Whether null is a legal value."""
    return type(None) in _alternatives(field.annotation)


def kinds_of(field: FieldInfo) -> tuple[Any, ...]:
    """The alternatives of a field's annotation, e.g. (int, NoneType)."""
    return tuple(_alternatives(field.annotation))


def words(field: FieldInfo) -> str:
    """What a field takes, e.g. "a whole number or null"."""
    said = list(dict.fromkeys(_said(kind, 0) for kind in _alternatives(field.annotation)))
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} or {said[-1]}"


def _said(kind: Any, plural: int) -> str:
    origin = typing.get_origin(kind)
    if kind is type(None):
        return "null"
    if origin is Literal:
        return " or ".join(
            str(value).lower() if isinstance(value, bool) else str(value) for value in typing.get_args(kind)
        )
    if origin is list:
        inner = " or ".join(_said(item, 1) for item in _alternatives(typing.get_args(kind)[0]))
        return f"{'lists' if plural else 'a list'} of {inner}"
    if isinstance(kind, type) and issubclass(kind, Part):
        return "a mapping"
    return _WORDS[dict if origin is dict else kind][plural]


def _alternatives(annotation: Any, *, keep_metadata: bool = False) -> list[Any]:
    bare, _ = _split(annotation)
    if typing.get_origin(bare) in (typing.Union, types.UnionType):
        parts = (_alternatives(part, keep_metadata=keep_metadata) for part in typing.get_args(bare))
        return [kind for part in parts for kind in part]
    return [annotation if keep_metadata else bare]


def _split(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    if typing.get_origin(annotation) is typing.Annotated:
        bare, *metadata = typing.get_args(annotation)
        return bare, tuple(metadata)
    return annotation, ()
