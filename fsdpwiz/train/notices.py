"""What a rank finds wrong and goes on from: said at the run's end, not before anything dies of it."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from fsdpwiz.core.findings import Finding
from fsdpwiz.runs.records import append


class Notices:
    """Rank 0's findings of an attempt, in its findings file; every rank's in its own log."""

    def __init__(self, path: Path, *, writes: bool) -> None:
        self._path = path
        self._writes = writes

    def add(self, finding: Finding) -> None:
        """Note a finding. A disk that cannot take it is no reason to end a training."""
        sys.stderr.write(f"{finding.severity}: {finding.code} {finding.message}\n")
        if self._writes:
            with contextlib.suppress(OSError):
                append(self._path, finding.to_json())
