"""Show or write a run's files: Accelerate YAML, launch line, plan."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
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
from fsdpwiz.render.environment import rank_environment
from fsdpwiz.render.launch_command import launch_command
from fsdpwiz.render.torchrun import torchrun_command, torchrun_environment

_HERE = Path()


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
        written = write_folder(folder, rendered_files(prepared.plan, folder.absolute()))
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


def rendered_files(plan: Plan, folder: Path = _HERE) -> dict[str, str]:
    """File name to text of all that is known before a run; the commands expect the files in `folder`."""
    torchrun = torchrun_command(plan, plan_path=folder / "plan.json", python=sys.executable)
    return {
        "accelerate.yaml": accelerate_yaml(plan),
        "command.txt": launch_text(plan, folder),
        "torchrun.txt": shell_text(torchrun_environment(plan), torchrun),
        "plan.json": json.dumps(plan.to_json(), indent=2, ensure_ascii=False) + "\n",
    }


def launch_text(plan: Plan, folder: Path) -> str:
    """The launch line, or that of each node, with MAIN_ADDRESS where the address of node 0 belongs."""
    lines = [
        launch_command(
            plan,
            plan_path=folder / "plan.json",
            accelerate_path=folder / "accelerate.yaml",
            node_rank=node,
            main_address="MAIN_ADDRESS" if plan.world.nodes > 1 else None,
            python=sys.executable,
        )
        for node in range(plan.world.nodes)
    ]
    texts = [shell_text(rank_environment(plan), line) for line in lines]
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"# on node {node}\n{text}" for node, text in enumerate(texts))


def shell_text(variables: Mapping[str, str], command: Sequence[str]) -> str:
    """A command for a shell, with the variables that it needs in front."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    return " \\\n  ".join([*settings, shlex.join(command)]) + "\n"


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
