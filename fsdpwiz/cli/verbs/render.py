"""Show or write a run's files: Accelerate YAML, launch line, plan."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fsdpwiz.cli.folder_write import write_folder
from fsdpwiz.cli.options import OverridesArgument, RecipeArgument, StrictOption
from fsdpwiz.cli.output import out
from fsdpwiz.cli.pipeline import Prepared, prepare
from fsdpwiz.plan.types import Plan
from fsdpwiz.render.accelerate_yaml import accelerate_yaml
from fsdpwiz.render.effective import effective
from fsdpwiz.render.torchrun import torchrun_command, torchrun_environment


def command(
    recipe: RecipeArgument,
    overrides: OverridesArgument = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Write the files there instead of showing them.",
            show_default=False,
        ),
    ] = None,
    show_effective: Annotated[
        bool,
        typer.Option(
            "--effective", help="Show what each rank will really get, and where each value is from."
        ),
    ] = False,
    strict: StrictOption = False,
) -> int:
    """Show what `run` would write and start; with --out, write it."""
    prepared = prepare(recipe, overrides or (), verb="render")
    code = prepared.report.exit_code(strict=strict)
    written: list[Path] = []
    if prepared.plan is not None and folder is not None and not code:
        written = write_folder(folder, rendered_files(prepared.plan))
    if out.json:
        out.document(_document(prepared, written, show_effective=show_effective))
    elif prepared.plan is not None and folder is None:
        _show(prepared.plan, show_effective=show_effective)
    out.findings(prepared.report.findings)
    if written:
        out.note(f"wrote {', '.join(str(path) for path in written)}")
    elif folder is not None:
        out.warn(f"nothing written to {folder}: the recipe has errors")
    return code


def rendered_files(plan: Plan) -> dict[str, str]:
    """File name to text of everything that can be known before the run folder exists."""
    return {
        "accelerate.yaml": accelerate_yaml(plan),
        "command.txt": command_text(plan),
        "plan.json": json.dumps(plan.to_json(), indent=2, ensure_ascii=False) + "\n",
    }


def command_text(plan: Plan) -> str:
    """The torchrun line that starts the same run, with the environment it needs before it."""
    words = torchrun_command(plan, plan_path=Path("plan.json"), python=sys.executable)
    settings = [f"{name}={shlex.quote(value)}" for name, value in torchrun_environment(plan).items()]
    return " \\\n  ".join([*settings, shlex.join(words)]) + "\n"


def _show(plan: Plan, *, show_effective: bool) -> None:
    if show_effective:
        return out.data(effective(plan).text())
    for name, text in rendered_files(plan).items():
        out.data(f"# {name}\n{text}")
    return None


def _document(prepared: Prepared, written: list[Path], *, show_effective: bool) -> dict[str, Any]:
    document: dict[str, Any] = {"findings": [finding.to_json() for finding in prepared.report.findings]}
    if prepared.plan is None:
        return {**document, "files": {}, "written": []}
    document["files"] = rendered_files(prepared.plan)
    document["written"] = [str(path) for path in written]
    if show_effective:
        document["effective"] = effective(prepared.plan).to_json()
    return document
