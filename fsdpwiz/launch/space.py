"""Whether a failed attempt ran out of disk space, which often keeps the ranks from saying so themselves."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from fsdpwiz.launch.failure import Failure, tail_text
from fsdpwiz.runs.layout import Attempt, RunFolder

FULL_BELOW_BYTES = 1_048_576
_TAIL_BYTES = 65_536
_SAID = re.compile(
    r"No space left on device|\[Errno 28\]|os error 28\b|\bENOSPC\b|Disk quota exceeded|\[Errno 122\]"
)
# torch's zip writer does not pass on why a write failed.
_WRITING = re.compile(r"inline_container\.cc|PytorchStreamWriter|unexpected pos \d+ vs \d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """What is left of the file system of a run folder; `said` is the line that tells of it, "" without one.

    `free_bytes` and `total_bytes` are None where the file system does not tell; `no_inodes`: it has space,
    but can hold no further file.
    """

    path: Path
    free_bytes: int | None
    total_bytes: int | None
    no_inodes: bool = False
    said: str = ""

    @property
    def full(self) -> bool:
        """Whether the run folder's own file system is full by now."""
        return self.no_inodes or (self.free_bytes is not None and self.free_bytes < FULL_BELOW_BYTES)


def shortage(run: RunFolder, attempt: Attempt, failure: Failure | None) -> Shortage | None:
    """The want of space that ended an attempt; None where nothing points to one.

    A rank's or launcher's own word counts whatever is free by now: what it wrote last may be deleted.
    Without one a full file system counts, unless a rank gave a cause of its own.
    """
    said = _said(attempt, failure)
    left = _left(run.root, said)
    if said:
        return left
    if failure is not None and _has_cause(failure):
        return None
    return left if left.full else None


def _has_cause(failure: Failure) -> bool:
    if failure.finding is not None:
        return True
    text = f"{failure.message}\n{failure.traceback}"
    return bool(failure.traceback) and not failure.secondary and not _WRITING.search(text)


def _said(attempt: Attempt, failure: Failure | None) -> str:
    """The line that says it: of the failure itself, else of the logs where the failure has no cause."""
    if failure is not None:
        if line := _line(failure.message) or _line(failure.traceback):
            return line
        if _has_cause(failure):
            return ""
    logs = [*attempt.folder.glob("rank-*.log"), *attempt.folder.glob("launcher-*.log")]
    return next(filter(None, (_line(tail_text(path, _TAIL_BYTES)) for path in sorted(logs))), "")


def _line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if _SAID.search(line)), "")


def _left(folder: Path, said: str) -> Shortage:
    try:
        space = os.statvfs(folder)
    except OSError:
        return Shortage(path=folder, free_bytes=None, total_bytes=None, said=said)
    return Shortage(
        path=folder,
        free_bytes=space.f_bavail * space.f_frsize,
        total_bytes=space.f_blocks * space.f_frsize,
        no_inodes=space.f_files > 0 and space.f_favail == 0,
        said=said,
    )
