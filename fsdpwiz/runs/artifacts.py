"""The files at the top of a run folder: the recipe, the plan and what was rendered of it."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsdpwiz.core import atomic
from fsdpwiz.runs.layout import Attempt, RunFolder
from fsdpwiz.runs.state import last_attempt

FILE_MODE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifacts:
    """What one launch of a run is made of; documents are plain values, texts as they are written.

    `recipe_text` is the recipe as run, overrides included; `source_text` the file it came from,
    unless `source_hash` is the hash of an earlier one.
    """

    recipe_text: str
    source_path: str | None
    source_text: str
    source_hash: str | None = None
    overrides: Sequence[str]
    plan: Mapping[str, Any]
    accelerate: str
    command: str
    versions: Mapping[str, str]
    findings: Mapping[str, Any]


def write_artifacts(run: RunFolder, artifacts: Artifacts) -> None:
    """Write every file of `artifacts`, all of them or none. Raises OSError.

    Files of a former launch are first moved to the last attempt they served.
    """
    staging = Path(tempfile.mkdtemp(dir=run.root, prefix=".next-"))
    try:
        texts = _texts(run, artifacts)
        for path, text in texts.items():
            atomic.write_text(staging / path.name, text, mode=FILE_MODE)
        served = last_attempt(run)
        if served:
            _retire(run, run.attempt(served))
        for path in texts:
            (staging / path.name).replace(path)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    run.recipe_fixed.unlink(missing_ok=True)


def recipe_hash(text: str) -> str:
    """The hash of a recipe's text, by which `fix` knows whether it is still the one that was run."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def top_files(run: RunFolder) -> tuple[Path, ...]:
    """The files that belong to one launch and stand at the top of the folder."""
    rendered = (run.plan, run.accelerate, run.sbatch, run.command)
    return (run.recipe, run.source, *rendered, run.versions, run.estimate, run.findings)


def _retire(run: RunFolder, attempt: Attempt) -> None:
    attempt.folder.mkdir(parents=True, exist_ok=True)
    for path in top_files(run):
        if path.exists():
            path.replace(attempt.folder / path.name)


def _texts(run: RunFolder, artifacts: Artifacts) -> dict[Path, str]:
    source = {
        "schema": 1,
        "path": artifacts.source_path,
        "hash": artifacts.source_hash or recipe_hash(artifacts.source_text),
        "overrides": list(artifacts.overrides),
    }
    return {
        run.recipe: artifacts.recipe_text,
        run.source: _json(source),
        run.accelerate: artifacts.accelerate,
        run.command: artifacts.command,
        run.versions: _json({"schema": 1, **artifacts.versions}),
        run.findings: _json(artifacts.findings),
        run.plan: _json(artifacts.plan),
    }


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
