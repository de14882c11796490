"""Plain values as YAML that every YAML reader takes alike; nothing is left to its guesses."""

from __future__ import annotations

import json
import re
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./,-]*")
# YAML 1.1, which PyYAML speaks, reads these as booleans or null.
_WORDS = frozenset({"y", "yes", "n", "no", "true", "false", "on", "off", "null"})


def scalar(value: Any) -> str:
    """A boolean, number or text; text that could be read as anything else is quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json.dumps(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)
