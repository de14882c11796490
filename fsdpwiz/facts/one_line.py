"""Names from outside within a sentence: no control characters, line ends or tabs, bounded in length."""

from __future__ import annotations

from fsdpwiz.core.text import visible


def one_line(name: str, *, limit: int = 80) -> str:
    """`name` as it may stand in a one-line message, cut at `limit` characters."""
    return visible(name, limit=limit).replace("\n", "\\n").replace("\t", "\\t")
