"""One value against its field: nothing, or the code and the particulars of what is wrong with it."""

from __future__ import annotations

import math
from typing import Any

from pydantic import ValidationError

from fsdpwiz.recipe.names import nearest_value
from fsdpwiz.recipe.scalar import resolve
from fsdpwiz.recipe.schema.annotation import choices_of, kinds_of, words
from fsdpwiz.recipe.schema.part import RESERVED, Part
from fsdpwiz.recipe.shown import in_sentence, shown

_RANGES = {
    "greater_than_equal": ("ge", "{} or more"),
    "greater_than": ("gt", "more than {}"),
    "less_than_equal": ("le", "{} or less"),
    "string_pattern_mismatch": ("pattern", "text of the form {}"),
    "string_too_short": ("min_length", "text that is not empty"),
    RESERVED: ("meaning", "another name: this one means {}"),
}
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def fault(
    model: type[Part], name: str, key: str, value: Any, *, raw: str | None = None
) -> tuple[str, dict[str, Any]] | None:
    """What is wrong with `value` for the field `name` of `model`: None, or code (S002, S003) and detail.

    `raw` is a scalar's text as written. Particulars of S002: expected, got and, where the same wish
    has a legal form, suggestion; of S003: legal, got (as it stands in a sentence), nearest.
    """
    info = model.model_fields[name]
    errors = _errors(model, name, value)
    if not errors:
        return nul_fault(key, value)
    if choices := choices_of(info):
        near = nearest_value(key, value if raw is None else raw, choices)
        return "S003", {"got": in_sentence(key, value), "legal": choices, "nearest": near}
    for error in errors:
        if error["type"] in _RANGES:
            bound, form = _RANGES[error["type"]]
            legal = (form.format(_short(error["ctx"][bound])),)
            return "S003", {"got": in_sentence(key, value), "legal": legal, "nearest": None}
    detail: dict[str, Any] = {"expected": words(info), "got": shown(key, value)}
    if (suggestion := _suggestion(model, name, value, raw)) is not None:
        detail["suggestion"] = suggestion
    return "S002", detail


def nul_fault(key: str, value: Any) -> tuple[str, dict[str, Any]] | None:
    """S003 where `value`, or any text in it, has the character NUL: no path or argument can."""
    text = _with_nul(value)
    if text is None:
        return None
    return "S003", {
        "got": in_sentence(key, text),
        "legal": ("text without the character NUL",),
        "nearest": None,
    }


def _with_nul(value: Any) -> str | None:
    if isinstance(value, str):
        return value if "\0" in value else None
    if isinstance(value, dict):
        value = [*value, *value.values()]
    return next(filter(None, map(_with_nul, value)), None) if isinstance(value, list) else None


def _errors(model: type[Part], name: str, value: Any) -> list[Any]:
    if not _finite(value):
        return [{"type": "finite_number"}]
    try:
        model.model_validate({name: value})
    except ValidationError as error:
        return list(error.errors(include_url=False, include_input=False))
    return []


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(inner) for inner in value.values())
    return all(_finite(inner) for inner in value) if isinstance(value, list) else True


def _suggestion(model: type[Part], name: str, value: Any, raw: str | None) -> Any:
    """A legal value that says the same as `value`, e.g. 2048 for "2048", true for "yes", "A,B" for [A, B]."""
    kinds = kinds_of(model.model_fields[name])
    candidates: list[Any] = []
    if bool in kinds and isinstance(raw, str) and raw.lower() in _TRUE | _FALSE:
        candidates.append(raw.lower() in _TRUE)
    if isinstance(value, str) and (int in kinds or float in kinds):
        candidates.append(resolve(value.strip().replace("_", "")))
    candidates += [int(number) for number in (value, *candidates) if _whole(number)]
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        candidates.append(",".join(value))
    if raw is not None and value is not None and str in kinds:
        candidates.append(raw)
    return next((one for one in candidates if one is not None and not _errors(model, name, one)), None)


def _whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()


def _short(bound: Any) -> Any:
    return int(bound) if _whole(bound) else bound
