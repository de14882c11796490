"""This machine: cores, memory and the limits that a container or a job sets on them."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

from fsdpwiz.core.cgroup import cpu_quota, memory_limit_bytes
from fsdpwiz.facts.types import Host

_TOTAL = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)


def read_host(root: Path = Path("/")) -> Host:
    """The cores and memory that this process may use; `root` is where /proc and /sys are looked for."""
    ram_bytes, limit_bytes = _ram_bytes(root), memory_limit_bytes(root)
    known = [count for count in (ram_bytes, limit_bytes) if count is not None]
    return Host(
        source="measured",
        cores=_cores(root),
        memory_bytes=min(known, default=None),
        ram_bytes=ram_bytes,
        cgroup_limit_bytes=limit_bytes,
        hostname=socket.gethostname() or None,
    )


def _cores(root: Path) -> int | None:
    try:
        allowed: int | None = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        allowed = os.cpu_count()
    quota = cpu_quota(root)
    if quota is None or allowed is None:
        return allowed
    return min(allowed, max(1, int(quota)))


def _ram_bytes(root: Path) -> int | None:
    try:
        found = _TOTAL.search((root / "proc/meminfo").read_text(encoding="ascii", errors="replace"))
    except OSError:
        return _ram_bytes_by_psutil()
    return int(found.group(1)) * 1024 if found else None


def _ram_bytes_by_psutil() -> int | None:
    """For systems without /proc."""
    import psutil

    try:
        return int(psutil.virtual_memory().total)
    except (psutil.Error, OSError, RuntimeError):
        return None
