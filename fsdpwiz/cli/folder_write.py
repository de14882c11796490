"""Several files written to a folder, all of them or none."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_folder(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write `files` (name to text) into `folder`, made where it is missing, and return their paths.

    All texts are on the disk before the first one takes its name; raises OSError with nothing changed.
    """
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
    return [folder / name for name in files]
