"""Limits that this process's own control group, or one above it, sets on memory and CPUs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

# cgroup v1 has no word for "no limit": it shows a number near 2^63 rounded down to a page.
_NO_LIMIT_BYTES = 2**60


def memory_limit_bytes(root: Path) -> int | None:
    """The least memory limit on the way from this process's group to the top, None without one."""
    limits = [
        limit
        for controller, name in (("", "memory.max"), ("memory", "memory.limit_in_bytes"))
        for folder in own_folders(root, controller)
        if (limit := _number(folder / name)) is not None and 0 < limit < _NO_LIMIT_BYTES
    ]
    return min(limits, default=None)


def cpu_quota(root: Path) -> float | None:
    """The least CPU quota on the way up, in CPUs, None without one."""
    quotas = [
        *(_quota_v2(folder) for folder in own_folders(root, "")),
        *(_quota_v1(folder) for folder in own_folders(root, "cpu")),
    ]
    return min((quota for quota in quotas if quota is not None and quota > 0), default=None)


def _quota_v2(folder: Path) -> float | None:
    parts = _text(folder / "cpu.max").split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts) or int(parts[1]) == 0:
        return None
    return int(parts[0]) / int(parts[1])


def _quota_v1(folder: Path) -> float | None:
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota is not None and period and quota > 0 else None


def own_folders(root: Path, controller: str) -> Iterable[Path]:
    """The folders of this process's group and those above it; `controller` "" is cgroup v2."""
    own, mount = _own_path(root, controller), _mount(root, controller)
    if own is None or mount is None:
        return ()
    mounted_root, mount_point = mount
    inner = _below(own, mounted_root)
    top = root / mount_point.lstrip("/")
    steps = [part for part in inner.split("/") if part not in ("", ".", "..")]
    return [top.joinpath(*steps[:depth]) for depth in range(len(steps), -1, -1)]


def _below(own: str, mounted_root: str) -> str:
    """The group's path below the mount, which inside a container may itself begin at that group."""
    start = mounted_root.rstrip("/")
    return own.removeprefix(start) if own == mounted_root or own.startswith(f"{start}/") else own


def _own_path(root: Path, controller: str) -> str | None:
    for line in _text(root / "proc/self/cgroup").splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and controller in parts[1].split(","):
            return parts[2]
    return None


def _mount(root: Path, controller: str) -> tuple[str, str] | None:
    """The (root within the hierarchy, mount point) of the controller's file system."""
    for line in _text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(kind) < 3:
            continue
        v2 = kind[0] == "cgroup2" and controller == ""
        if v2 or (kind[0] == "cgroup" and controller and controller in kind[2].split(",")):
            return fields[3], fields[4]
    return None


def _number(path: Path) -> int | None:
    with contextlib.suppress(ValueError):
        return int(_text(path).strip())
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
