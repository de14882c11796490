"""Several files written to a folder, all of them or none."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fsdpwiz.core.atomic import named


def write_folder(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write `files` (name to text) into `folder`, made where it is missing, and return their paths.

    All texts are on the disk before the first one takes its name; raises OSError, which
    names `folder`, with nothing changed.
    """
    with named(folder):
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        _write(folder, files)
    return [folder / name for name in files]


def _write(folder: Path, files: Mapping[str, str]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        for name, text in files.items():
            (staging / name).write_text(text, encoding="utf-8")
        if folder.exists():
            for name in files:
                (staging / name).replace(folder / name)
        else:
            staging.chmod(0o755)
            staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
