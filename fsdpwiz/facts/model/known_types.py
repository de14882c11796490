"""Which model types the installed transformers has, from the text of its tables; nothing is imported."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fsdpwiz.facts.regular_file import UnreadableFileError, read_bytes

# CONFIG_MAPPING_NAMES stands in the first since transformers 5, in the second before.
_TABLES = ("auto_mappings.py", "configuration_auto.py")
_ENTRY = re.compile(r'\(\s*"([^"\n]+)",\s*"\w+Config"')


def is_known_type(model_type: object) -> bool | None:
    """Whether the installed transformers has `model_type`; None where that cannot be told."""
    known = _known_types()
    return model_type in known if known and isinstance(model_type, str) else None


@cache
def _known_types() -> frozenset[str]:
    try:
        spec = find_spec("transformers")
    except (ImportError, ValueError):
        return frozenset()
    found: set[str] = set()
    for folder in (spec.submodule_search_locations if spec else None) or ():
        for table in _TABLES:
            try:
                text = read_bytes(Path(folder) / "models" / "auto" / table).decode("utf-8", "replace")
            except UnreadableFileError:
                continue
            found.update(_ENTRY.findall(text))
    return frozenset(found)
