"""A process's memory in bytes: resident now, at its peak, and on its GPU."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STATM = Path("/proc/self/statm")
_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


def rss_bytes() -> int | None:
    """Resident memory of this process; None where the system does not say."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return None


def rss_peak_bytes() -> int | None:
    """The most resident memory since the last reset (VmHWM)."""
    try:
        for line in _STATUS.read_bytes().splitlines():
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    return None


def gpu_bytes() -> tuple[int | None, int | None]:
    """Memory that torch has allocated on the GPU: now, and at its peak since the last reset."""
    cuda = _cuda()
    return (cuda.memory_allocated(), cuda.max_memory_allocated()) if cuda else (None, None)


def reset_peaks() -> None:
    """Let the peaks begin anew where the system allows it; else they stay those of the process."""
    with contextlib.suppress(OSError):
        _CLEAR_REFS.write_bytes(b"5")
    if cuda := _cuda():
        cuda.reset_peak_memory_stats()


def _cuda() -> Any:
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None
