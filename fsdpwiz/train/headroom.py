"""How much more memory this host can give before it is `SHARE` full: by its RAM and by our cgroups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psutil

from fsdpwiz.core.cgroup import own_folders

SHARE = 0.8
_UNLIMITED_BYTES = 1 << 60
_RECLAIMABLE = re.compile(r"^(?:total_)?inactive_file (\d+)$", re.MULTILINE)
_FILES = (("", "memory.max", "memory.current"), ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"))


def headroom_bytes(root: Path = Path("/")) -> int:
    """Bytes that may still be taken on this host, at least 0; page cache counts as free."""
    memory = psutil.virtual_memory()
    rooms = [int(SHARE * memory.total) - int(memory.total - memory.available)]
    rooms += [int(SHARE * limit) - used for limit, used in _limits(root)]
    return max(min(rooms), 0)


def _limits(root: Path) -> Iterator[tuple[int, int]]:
    """(limit, what is used and not reclaimable) of each cgroup above this process that has a limit."""
    for controller, limit_name, used_name in _FILES:
        for folder in own_folders(root, controller):
            limit, used = _number(folder / limit_name), _number(folder / used_name)
            if limit is not None and used is not None and limit < _UNLIMITED_BYTES:
                yield limit, max(used - _reclaimable_bytes(folder), 0)


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _reclaimable_bytes(folder: Path) -> int:
    try:
        found = _RECLAIMABLE.search((folder / "memory.stat").read_text(encoding="ascii"))
    except OSError:
        return 0
    return int(found.group(1)) if found else 0
