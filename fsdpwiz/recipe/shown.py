"""Values of a recipe as a message may show them: short, without control characters, never a secret."""

from __future__ import annotations

import math
from typing import Any

from fsdpwiz.core.secrets import HIDDEN, contains_secret, names_secret
from fsdpwiz.core.text import visible
from fsdpwiz.recipe.scalar import resolve

_CHARACTERS = 80
_MANY_DIGITS = "a number of many digits"


def is_secret(key: str, value: Any) -> bool:
    """Whether the value of a dotted key, or anything in it, looks like a token or a password."""
    if names_secret(key.rpartition(".")[2]) and value is not None:
        return True
    if isinstance(value, dict):
        return any(is_secret(str(name), inner) for name, inner in value.items())
    if isinstance(value, list):
        return any(is_secret("", inner) for inner in value)
    return isinstance(value, str) and contains_secret(value)


def shown(key: str, value: Any, *, quoted: bool = True) -> str:
    """`value` as a recipe would write it; text in quotes, so that "5" and 5 differ."""
    if is_secret(key, value):
        return HIDDEN
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    if isinstance(value, str):
        text = visible(value, limit=_CHARACTERS)
        return f'"{text}"' if quoted else text
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return visible(_number(value), limit=_CHARACTERS)


def in_sentence(key: str, value: Any) -> str:
    """`value` among the words of a message: literals in backticks, a mere description ("a list") without.

    Text that would be another value without its quotes has them: "2" and 2 differ.
    """
    text = shown(key, value, quoted=isinstance(value, str) and not isinstance(resolve(value), str))
    described = isinstance(value, dict | list) or (text == _MANY_DIGITS and not isinstance(value, str))
    return text if described and text != HIDDEN else f"`{text}`"


def _number(value: int | float) -> str:
    digits = value.bit_length() // 4 if isinstance(value, int) else 0
    return _MANY_DIGITS if digits > _CHARACTERS else repr(value)
