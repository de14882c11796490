"""Which file a reference means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.recipe.find import find_recipe
from fsdpwiz.recipe.library import shipped

DEMO = {recipe.name: recipe.path for recipe in shipped()}["smollm2-135m-sft"]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name in ("a.yaml", "b.yml", "plan.yaml", "plain", "both", "both.yaml"):
        (tmp_path / name).write_text("x: 1\n")
    for name in ("folder", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "folder" / "recipe.yaml").write_text("x: 1\n")
    (tmp_path / "other" / "recipe.yml").write_text("x: 1\n")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("a.yaml", "a.yaml"),
        ("a", "a.yaml"),
        ("./a", "a.yaml"),
        ("b", "b.yml"),
        ("plain", "plain"),
        ("both", "both"),
        ("folder", "folder/recipe.yaml"),
        ("folder/", "folder/recipe.yaml"),
        ("folder/recipe", "folder/recipe.yaml"),
        ("other", "other/recipe.yml"),
    ],
)
def test_paths(here: Path, reference: str, found: str) -> None:
    assert find_recipe(reference, cwd=here) == here / found
    assert find_recipe(str(here / reference), cwd=Path("/")) == here / found


@pytest.mark.parametrize(
    "reference",
    [
        "smollm2-135m-sft",
        "smollm2-135m-sft.yaml",
        "recipes/smollm2-135m-sft",
        "recipes/smollm2-135m-sft.yaml",
        "./recipes/smollm2-135m-sft",
    ],
)
def test_shipped_names_from_any_folder(here: Path, reference: str) -> None:
    assert find_recipe(reference, cwd=here).resolve() == DEMO.resolve()


def test_own_file_goes_before_a_shipped_one(here: Path) -> None:
    (here / "recipes").mkdir()
    own = here / "recipes" / "smollm2-135m-sft.yaml"
    own.write_text("x: 1\n")
    assert find_recipe("recipes/smollm2-135m-sft", cwd=here) == own
    assert find_recipe("smollm2-135m-sft", cwd=here) == DEMO


def test_folder_without_a_recipe_does_not_hide_a_shipped_one(here: Path) -> None:
    (here / "smollm2-135m-sft").mkdir()
    assert find_recipe("smollm2-135m-sft", cwd=here) == DEMO


@pytest.mark.parametrize(
    ("reference", "near"),
    [
        ("smolm2-135m-sft", "smollm2-135m-sft"),
        ("recipes/llama2-70b-sfft", "llama2-70b-sft"),
        ("plainn.yaml", "plan.yaml"),
    ],
)
def test_nearest_names(here: Path, reference: str, near: str) -> None:
    with pytest.raises(ProblemError) as raised:
        find_recipe(reference, cwd=here)
    assert raised.value.problem.code == "S010"
    assert raised.value.problem.detail["nearest"][0] == near


@pytest.mark.parametrize(
    "reference", ["", "empty", "nowhere/at/all", "a\0b", "x" * 5000, "~nobody/x", "a/b" * 2000]
)
def test_nothing_there(here: Path, reference: str) -> None:
    with pytest.raises(ProblemError) as raised:
        find_recipe(reference, cwd=here)
    problem = raised.value.problem
    assert problem.code == "S010"
    assert len(problem.detail["reference"]) <= 210
    assert "\0" not in problem.detail["reference"]


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_reference_is_found_or_reported(reference: str) -> None:
    try:
        find_recipe(reference, cwd=Path("/nonexistent"))
    except ProblemError as error:
        assert error.problem.code == "S010"
