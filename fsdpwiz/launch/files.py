"""What a launch writes into its run folder before it starts."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fsdpwiz.core.findings import Finding
from fsdpwiz.launch.local import command_for
from fsdpwiz.launch.node import Node
from fsdpwiz.launch.recipe_as_run import recipe_as_run
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.render.accelerate_yaml import accelerate_yaml
from fsdpwiz.render.environment import rank_environment
from fsdpwiz.runs.artifacts import Artifacts
from fsdpwiz.runs.layout import RunFolder

_SOURCE_LIMIT_BYTES = 1_000_000


def artifacts(
    recipe: Recipe, plan: Plan, findings: Iterable[Finding], run: RunFolder, node: Node, *, resumed: bool
) -> Artifacts:
    """Every file at the top of a run folder; a resumed run keeps where its recipe first came from."""
    source = _source_of(run) if resumed else {}
    path = source.get("path", None if recipe.path is None else str(recipe.path.absolute()))
    return Artifacts(
        recipe_text=recipe_as_run(recipe, plan),
        source_path=path,
        source_hash=source.get("hash"),
        source_text=recipe.text,
        overrides=(*source.get("overrides", ()), *recipe.overrides),
        plan=plan.to_json(),
        accelerate=accelerate_yaml(plan),
        command=command_text(plan, command_for(plan, run, node)),
        versions=dict(plan.versions),
        findings={"schema": 1, "findings": [finding.to_json() for finding in findings]},
    )


def command_text(plan: Plan, command: Sequence[str]) -> str:
    """The launch as a line for a shell, with the variables that it adds in front."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in rank_environment(plan).items()]
    return " \\\n  ".join([*settings, shlex.join(command)]) + "\n"


def unmade_run(plan: Plan, output_dir: Path) -> RunFolder:
    """A stand-in for the folder that a run would make, to show what it would be launched with."""
    return RunFolder(output_dir.absolute() / plan.name / "YYYYmmdd-HHMMSS")


def _source_of(run: RunFolder) -> Mapping[str, Any]:
    """source.json of the former launch, as far as it can be read."""
    try:
        with run.source.open("rb") as stream:
            document = json.loads(stream.read(_SOURCE_LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    kept = {name: document[name] for name in ("path", "hash") if isinstance(document.get(name), str)}
    overrides = document.get("overrides")
    if isinstance(overrides, list):
        kept["overrides"] = [item for item in overrides if isinstance(item, str)]
    return kept
