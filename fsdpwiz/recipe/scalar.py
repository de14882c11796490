"""Plain YAML scalars by the core schema of YAML 1.2: `no` is text, `5e-5` is a number."""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]{1,400}")
_OCTAL = re.compile(r"0o[0-7]{1,100}")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,100}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,400}|[0-9]{1,400}(?:\.[0-9]{0,400})?)(?:[eE][-+]?[0-9]{1,9})?")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NOT_A_NUMBER = frozenset({".nan", ".NaN", ".NAN"})


def resolve(text: str) -> Scalar:
    """The value of an unquoted scalar."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text[2:], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if infinite := _INFINITE.fullmatch(text):
        return float(f"{infinite[1]}inf")
    return float("nan") if text in _NOT_A_NUMBER else None
