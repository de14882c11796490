"""The checkpoints of a run that a later attempt can go on from."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from fsdpwiz.runs.layout import CHECKPOINT_MANIFEST, CHECKPOINT_PREFIX, RunFolder

_MANIFEST_LIMIT_BYTES = 16_000_000
_NAME = re.compile(rf"{CHECKPOINT_PREFIX}([0-9]{{1,12}})")


def complete_checkpoints(run: RunFolder) -> list[Path]:
    """The run's step-N folders by rising step; a folder of that name is always complete."""
    steps = sorted(step for step in map(step_of, _folders(run.checkpoints)) if step is not None)
    return [run.checkpoint(step) for step in steps]


def latest_checkpoint(run: RunFolder) -> Path | None:
    """The complete checkpoint of the highest step, None where there is none."""
    checkpoints = complete_checkpoints(run)
    return checkpoints[-1] if checkpoints else None


def manifest_of(checkpoint: Path) -> dict[str, Any] | None:
    """What a checkpoint says of the run that wrote it, None where it does not (readably) say."""
    try:
        descriptor = os.open(checkpoint / CHECKPOINT_MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            document = json.loads(stream.read(_MANIFEST_LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def step_of(folder: Path) -> int | None:
    """The step of a checkpoint folder's name, None for another name (also for "step-007")."""
    match = _NAME.fullmatch(folder.name)
    if match is None:
        return None
    step = int(match.group(1))
    return step if folder.name == f"{CHECKPOINT_PREFIX}{step}" else None


def _folders(parent: Path) -> list[Path]:
    try:
        with os.scandir(parent) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
