"""Free space and write permission where a run would leave its files."""

from __future__ import annotations

import os
from pathlib import Path

from fsdpwiz.facts.types import Disk
from fsdpwiz.facts.unknown import UnknownFact


def read_disk(folder: Path) -> Disk:
    """The file system that would hold `folder`, judged at its nearest parent that exists."""
    path = Path.cwd() / folder
    place = next((place for place in (path, *path.parents) if os.path.lexists(place)), Path("/"))
    held_by = place if place.exists() else place.parent
    try:
        space = os.statvfs(held_by)
    except OSError as error:
        raise UnknownFact(f"the file system of `{held_by}` cannot be read: {error.strerror}") from None
    problem = _why_not_writable(place, read_only=bool(space.f_flag & os.ST_RDONLY))
    return Disk(
        source="measured",
        path=place,
        free_bytes=space.f_bavail * space.f_frsize,
        writable=problem is None,
        problem=problem,
    )


def _why_not_writable(place: Path, *, read_only: bool) -> str | None:
    if not place.exists():
        return "a link that leads nowhere"
    if not place.is_dir():
        return "not a folder"
    if read_only:
        return "on a file system that is mounted read-only"
    if not os.access(place, os.W_OK | os.X_OK):
        return "not writable for this user"
    return None
