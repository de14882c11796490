"""The rendered files of every shipped recipe, held against tests/golden.

`pytest tests/render/test_golden.py --update-golden` writes them anew.
"""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import pytest

from fsdpwiz.facts.declared import declared_gpus
from fsdpwiz.facts.model.read import read_model
from fsdpwiz.facts.types import Gpus
from fsdpwiz.plan.resolve import resolve
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.library import Shipped, shipped
from fsdpwiz.recipe.load import load_recipe
from fsdpwiz.render.accelerate_yaml import accelerate_yaml
from fsdpwiz.render.environment import rank_environment
from fsdpwiz.render.launch_command import launch_command
from fsdpwiz.render.torchrun import torchrun_command, torchrun_environment
from tests.plan.recipes import make_facts

GOLDEN = Path(__file__).parent.parent / "golden" / "recipes"
RECIPES = shipped()


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.name for recipe in RECIPES])
def test_files_are_golden(recipe: Shipped, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    rendered = files(plan_of(recipe, tmp_path))
    folder = GOLDEN / recipe.name
    if request.config.getoption("--update-golden"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in rendered.items():
            (folder / name).write_text(text, encoding="utf-8")
    found = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*"))}
    assert found.keys() == rendered.keys(), "missing or left over; run with --update-golden"
    for name, text in rendered.items():
        assert found[name] == text


def test_no_golden_without_a_recipe() -> None:
    assert RECIPES
    assert {path.name for path in GOLDEN.iterdir()} == {recipe.name for recipe in RECIPES}


def plan_of(recipe: Shipped, folder: Path) -> Plan:
    """The plan on a machine without GPUs, models from the catalogue."""
    loaded = load_recipe(recipe.path)
    assert not loaded.problems
    cluster = loaded.value("cluster") or {}
    model = read_model(
        loaded.value("model.name_or_path"),
        revision=None,
        base_folders=(),
        environ={"HF_HOME": str(folder), "HF_HUB_CACHE": str(folder)},
    )
    facts = make_facts(
        gpus=0,
        model=dataclasses.replace(model, path=None),
        declared_gpus=declared_gpus(cluster) if cluster else Gpus(source="declared", cards=()),
    )
    plan, problems = resolve(loaded, facts)
    assert plan is not None and not problems
    return plan


def files(plan: Plan) -> dict[str, str]:
    """File name to text: Accelerate's file, and how to start the run with and without its launcher."""
    address = "MAIN_ADDRESS" if plan.world.nodes > 1 else None
    launch = launch_command(
        plan, plan_path=Path("plan.json"), accelerate_path=Path("accelerate.yaml"), main_address=address
    )
    torchrun = torchrun_command(plan, plan_path=Path("plan.json"))
    return {
        "accelerate.yaml": accelerate_yaml(plan),
        "accelerate.sh": shell(rank_environment(plan), launch),
        "torchrun.sh": shell(torchrun_environment(plan), torchrun),
    }


def shell(environ: dict[str, str], words: list[str]) -> str:
    lines = [*(f"{name}={shlex.quote(value)}" for name, value in environ.items()), shlex.join(words)]
    return " \\\n  ".join(lines) + "\n"
