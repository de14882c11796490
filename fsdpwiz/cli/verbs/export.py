"""Make a model that loads from a run's or any sharded checkpoint."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fsdpwiz.cli.output import out
from fsdpwiz.core.errors import FsdpwizError, ProblemError
from fsdpwiz.core.findings import Finding, Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.core.units import format_bytes
from fsdpwiz.exec.process import run
from fsdpwiz.rules.report import exit_code
from fsdpwiz.runs.checkpoints import step_of
from fsdpwiz.runs.find import find_run, is_run
from fsdpwiz.runs.layout import RunFolder

_LIMIT_S = 7 * 24 * 3600
_LAST_LINES = 15
_DTYPES = ("float32", "bfloat16", "float16")
_NEEDED = ("torch", "transformers", "accelerate", "peft")


def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN|CHECKPOINT",
            help="A run (its folder, its name or `last`) or a checkpoint folder, whoever wrote it.",
            show_default=False,
        ),
    ],
    target: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Where the model goes; for a run its own `model` folder unless given.",
            show_default=False,
        ),
    ] = None,
    adapter: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the adapter of a LoRA checkpoint goes, beside the merged model.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The base model, where the checkpoint does not say it.", show_default=False
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="DTYPE", help="float32, bfloat16 or float16; else the base model's.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is in the folder.")] = False,
    output_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of the run folders.", show_default=False),
    ] = None,
) -> int:
    """Write and verify a model that `from_pretrained` loads, from a checkpoint."""
    _need_the_extra()
    if dtype is not None and dtype not in _DTYPES:
        raise typer.BadParameter(f"`{dtype}` is none of {', '.join(_DTYPES)}", param_hint="--dtype")
    found, default, default_adapter = _located(source, output_dir or Path("runs"))
    options = {
        "--out": str(target or default),
        "--adapter": str(adapter or default_adapter or "") if target is None or adapter else "",
        "--model": model or "",
        "--dtype": dtype or "",
    }
    given = [word for name, value in options.items() if value for word in (name, value)]
    out.note(f"exporting {found} to {options['--out']}")
    document = _child([str(found), *given, *(["--force"] if force else []), "--json"])
    findings = tuple(_finding(item) for item in document.get("findings", ()))
    if out.json:
        out.document({key: value for key, value in document.items() if key != "schema"})
    out.findings(findings)
    if document.get("model"):
        _say(document)
    return exit_code(findings)


def _located(source: str, output_dir: Path) -> tuple[Path, Path, Path | None]:
    """What to export, and where its model and adapter go unless the user says."""
    path = Path(source)
    if path.is_dir() and not is_run(path):
        run_folder = RunFolder(path.absolute().parent.parent)
        if path.absolute().parent == run_folder.checkpoints and step_of(path) is not None:
            return path, run_folder.root / f"model-{path.name}", run_folder.root / f"adapter-{path.name}"
        return path, path.absolute().with_name(f"{path.absolute().name}-model"), None
    found = find_run(source, output_dir)
    return found.root, found.model, found.adapter


def _need_the_extra() -> None:
    missing = tuple(name for name in _NEEDED if importlib.util.find_spec(name) is None)
    if missing:
        detail = {"extra": "train", "missing": missing, "for": "`fsdpwiz export`"}
        raise ProblemError(Problem(code="P001", detail=detail))


def _child(arguments: list[str]) -> dict[str, Any]:
    """The document of `python -m fsdpwiz.train.export`; FsdpwizError where it died without one."""
    command_line = [sys.executable, "-m", "fsdpwiz.train.export", *arguments]
    done = run(command_line, timeout_s=_LIMIT_S, environ={**os.environ, "TQDM_DISABLE": "1"})
    out.detail(done.stderr)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        document = None
    if isinstance(document, dict):
        return document
    ended = f"was ended by signal {-done.exit_code}" if done.exit_code < 0 else f"ended with {done.exit_code}"
    last = "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
    message = f"The export {ended} and left no result; it said last:\n{last}"
    raise FsdpwizError(Finding(code="P011", name="export-not-verified", severity="error", message=message))


def _finding(item: Mapping[str, Any]) -> Finding:
    """A finding of the child's document, for a person: its evidence stays in the document."""
    known = {name: item.get(name) for name in Finding.__slots__ if name not in ("evidence", "fixes")}
    finding = Finding(**{name: value for name, value in known.items() if value is not None})
    return replace(finding, fixes=tuple(Fix(**fix) for fix in item.get("fixes", ())))


def _say(document: Mapping[str, Any]) -> None:
    size, count = format_bytes(document["size_bytes"]), document["tensors"]
    out.note(f"verified: {count} tensors, {size} in {document['dtype']}")
    if not document.get("tokenizer"):
        out.warn("no tokenizer was found beside the checkpoint or its base model: add one to the folder")
    for name in ("model", "adapter"):
        if document.get(name):
            out.data(str(document[name]))
