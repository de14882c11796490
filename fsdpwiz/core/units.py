"""Bytes and durations as people read them; megabytes and gigabytes are decimal."""

from __future__ import annotations

MB = 1_000_000
GB = 1_000_000_000
_STEPS = ((1_000_000_000_000, "TB"), (GB, "GB"), (MB, "MB"), (1_000, "kB"))


def format_bytes(count: float) -> str:
    """`count` bytes with three significant digits, e.g. "4.13 GB"."""
    for size, unit in _STEPS:
        if abs(count) >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def format_seconds(seconds: float) -> str:
    """`seconds` as "45 s", "3 min 20 s" or "2 h 05 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
