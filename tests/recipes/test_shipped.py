"""The shipped recipes: no fault, nothing of one site, nothing that is not built, hardware that is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import fsdpwiz
from fsdpwiz.recipe.library import Shipped, recipes_folder, shipped
from fsdpwiz.recipe.load import load_recipe
from fsdpwiz.recipe.paths import resolve_path

CATALOGUE = Path(fsdpwiz.__file__).parent / "facts" / "catalog"
ALL = shipped()
EXPECTED = {
    "smollm2-135m-sft",
    "llama2-7b-sft",
    "llama2-70b-sft",
    "gpt2-xl-sft",
    "mistral-7b-sft",
    "llama3-8b-lora",
    "llama2-70b-qlora",
    "llama3-8b-qlora",
}
each = pytest.mark.parametrize("shipped_recipe", ALL, ids=[recipe.name for recipe in ALL])


def test_they_are_all_there() -> None:
    assert {recipe.name for recipe in ALL} >= EXPECTED


@each
def test_no_problem(shipped_recipe: Shipped) -> None:
    recipe = load_recipe(shipped_recipe.path)
    assert recipe.problems == ()
    assert recipe.value("name") == shipped_recipe.name


@each
def test_first_comment_says_what_and_for_which_hardware(shipped_recipe: Shipped) -> None:
    assert shipped_recipe.title.endswith(".")
    assert re.search(r"; for .*(GPU|A100|24 GB|48 GB)", shipped_recipe.title)


@each
def test_nothing_of_one_site(shipped_recipe: Shipped) -> None:
    recipe = load_recipe(shipped_recipe.path)
    for key in ("slurm", "output_dir", "env", "ignore", "script"):
        assert not recipe.has(key)
    for value in _texts(recipe.given):
        assert not value.startswith(("/", "~", "."))


@each
def test_nothing_that_is_not_built(shipped_recipe: Shipped) -> None:
    recipe = load_recipe(shipped_recipe.path)
    assert recipe.value("launcher", "local") == "local"


@each
def test_gpus_are_named_in_the_catalogue(shipped_recipe: Shipped) -> None:
    known = {
        card["name"] for card in json.loads((CATALOGUE / "gpus.json").read_text(encoding="utf-8"))["gpus"]
    }
    assert load_recipe(shipped_recipe.path).value("cluster.gpu") in known | {None}


@each
def test_models_are_in_the_catalogue_so_that_gated_ones_plan_offline(shipped_recipe: Shipped) -> None:
    paths = (CATALOGUE / "models").glob("*.json")
    families = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    known = {name for family in families for name in family["models"]}
    assert load_recipe(shipped_recipe.path).value("model.name_or_path") in known


def test_demo_finds_its_data_from_any_folder(tmp_path: Path) -> None:
    recipe = load_recipe(recipes_folder() / "smollm2-135m-sft.yaml")
    for key in ("data.name_or_path", "data.eval_name_or_path"):
        found = resolve_path(recipe, recipe.value(key), cwd=tmp_path)
        assert found is not None
        assert found.is_file()
    assert not recipe.has("cluster")


def test_article_settings_of_llama2_70b() -> None:
    recipe = load_recipe(recipes_folder() / "llama2-70b-sft.yaml")
    wanted = {
        "sft.max_length": 2048,
        "sft.packing": True,
        "sft.max_steps": 500,
        "sft.learning_rate": 5e-5,
        "sft.warmup_steps": 0.03,
        "fsdp.version": 2,
        "fsdp.state_dict_type": "SHARDED_STATE_DICT",
        "fsdp.activation_checkpointing": True,
        "cluster.nodes": 2,
        "cluster.gpus_per_node": 8,
        "cluster.gpu": "A100-80GB",
    }
    assert {key: recipe.value(key) for key in wanted} == wanted


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    return [value] if isinstance(value, str) else []
