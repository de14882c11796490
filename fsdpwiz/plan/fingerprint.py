"""The hash of what was decided."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_NOT_DECIDED = frozenset({"hash", "origins", "schema"})


def fingerprint(document: Mapping[str, Any]) -> str:
    """SHA-256 of a plan's values, in hexadecimal; where they come from does not change it."""
    decided = {key: value for key, value in document.items() if key not in _NOT_DECIDED}
    text = json.dumps(decided, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
