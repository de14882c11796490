"""A new run's folder: private, of a name nobody else has, and gone again where it cannot be filled."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from fsdpwiz.runs.layout import RunFolder

ID_FORMAT = "%Y%m%d-%H%M%S"
FOLDER_MODE = 0o700
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


def is_safe_name(text: str) -> bool:
    """Whether `text` can be a folder's name as it stands: a run's NAME or its id."""
    return _SAFE_NAME.fullmatch(text) is not None


def new_run_id(now: datetime | None = None) -> str:
    """The id of a run that starts now (local time): YYYYmmdd-HHMMSS."""
    return (now or datetime.now()).strftime(ID_FORMAT)


def create_run(
    output_dir: Path, name: str, *, run_id: str | None = None, now: datetime | None = None
) -> RunFolder:
    """Make OUTPUT_DIR/NAME/ID, mode 0700, and return it.

    Without `run_id` it is the present second, or the next one that no other run has taken; a
    given id that is taken raises FileExistsError. Raises ValueError for a name or id that is no
    plain folder name, OSError where it cannot be made.
    """
    for part in (name, *([run_id] if run_id is not None else [])):
        if not is_safe_name(part):
            raise ValueError(f"`{part}` cannot be a folder's name: letters, digits, `.`, `_` and `-` only")
    parent = output_dir.absolute() / name
    parent.mkdir(parents=True, exist_ok=True)
    if run_id is not None:
        return _make(parent / run_id)
    moment = now or datetime.now()
    while True:
        try:
            return _make(parent / new_run_id(moment))
        except FileExistsError:
            moment += timedelta(seconds=1)


def _make(root: Path) -> RunFolder:
    root.mkdir(mode=FOLDER_MODE)
    root.chmod(FOLDER_MODE)
    return RunFolder(root)


@contextlib.contextmanager
def new_run(output_dir: Path, name: str, *, run_id: str | None = None) -> Iterator[RunFolder]:
    """As `create_run`, for the block that fills the folder: if it fails, nothing of it remains."""
    output_dir = output_dir.absolute()
    absent = [folder for folder in _upwards(output_dir / name) if not folder.exists()]
    try:
        run = create_run(output_dir, name, run_id=run_id)
        try:
            yield run
        except BaseException:
            shutil.rmtree(run.root, ignore_errors=True)
            raise
    except BaseException:
        _remove_empty(absent)
        raise


def _upwards(folder: Path) -> list[Path]:
    return [folder, *folder.parents]


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
