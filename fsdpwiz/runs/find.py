"""A run by what a user calls it: its folder, its NAME (then the latest of it) or `last`."""

from __future__ import annotations

import difflib
import os
import stat
from datetime import datetime
from pathlib import Path

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.core.problem import Problem
from fsdpwiz.runs.create import ID_FORMAT, is_safe_name
from fsdpwiz.runs.layout import RunFolder

LAST = "last"


def find_run(reference: str, output_dir: Path) -> RunFolder:
    """The run that `reference` names; raises ProblemError S032 where there is none.

    Tried in this order: a path (also NAME/ID below `output_dir`), `last`, a NAME.
    """
    for path in (Path(reference), output_dir / reference):
        if is_run(path):
            return RunFolder(path.absolute())
    names = _names(output_dir)
    wanted = names if reference == LAST else [name for name in names if name == reference]
    runs = [run for name in wanted for run in runs_of(output_dir, name)]
    if runs:
        return max(runs, key=created)
    known = [name for name in (*names, LAST) if name != reference]
    nearest = difflib.get_close_matches(reference, known, n=1)
    detail = {
        "reference": reference,
        "output_dir": str(output_dir),
        "known": names[:20],
        "nearest": nearest[:1],
    }
    raise ProblemError(Problem(code="S032", detail=detail))


def is_run(path: Path) -> bool:
    """Whether a folder is a run's: it holds a recipe or a plan and where the recipe came from."""
    run = RunFolder(path)
    return _is_file(run.source) and (_is_file(run.plan) or _is_file(run.recipe))


def runs_of(output_dir: Path, name: str) -> list[RunFolder]:
    """Every run of a NAME, oldest first; links are not followed."""
    runs = [RunFolder(folder) for folder in _folders(output_dir.absolute() / name) if is_run(folder)]
    return sorted(runs, key=created)


def created(run: RunFolder) -> tuple[float, str]:
    """When a run was made: by its id, else by its recipe's time; ties fall to the id."""
    try:
        moment = datetime.strptime(run.root.name, ID_FORMAT).timestamp()
    except ValueError:
        moment = _modified(run)
    return moment, run.root.name


def _modified(run: RunFolder) -> float:
    try:
        return run.recipe.lstat().st_mtime
    except OSError:
        return 0.0


def _names(output_dir: Path) -> list[str]:
    """The NAMEs that have a run."""
    names = (folder.name for folder in _folders(output_dir) if is_safe_name(folder.name))
    return sorted(name for name in names if any(map(is_run, _folders(output_dir / name))))


def _folders(parent: Path) -> list[Path]:
    try:
        with os.scandir(parent) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False
