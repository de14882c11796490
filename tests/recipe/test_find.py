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


@pytest.mark.parametrize("reference", ["", "nowhere/at/all", "a\0b", "x" * 5000, "~nobody/x", "a/b" * 2000])
def test_nothing_there(here: Path, reference: str) -> None:
    with pytest.raises(ProblemError) as raised:
        find_recipe(reference, cwd=here)
    problem = raised.value.problem
    assert problem.code == "S010"
    assert len(problem.detail["reference"]) <= 210
    assert "\0" not in problem.detail["reference"]


@pytest.mark.parametrize(
    ("reference", "file", "reason"),
    [
        ("empty", "empty", "a folder without `recipe.yaml`"),
        ("named", "named.yaml", "a folder without `recipe.yaml`"),
        ("dangling.yaml", "dangling.yaml", "leads nowhere: to `gone.yaml`"),
        ("dangling", "dangling.yaml", "leads nowhere"),
        ("through", "through.yaml", "leads nowhere"),
        ("loop", "loop.yaml", "leads back to itself"),
    ],
)
def test_what_is_there_but_no_recipe_is_named(here: Path, reference: str, file: str, reason: str) -> None:
    (here / "named.yaml").mkdir()
    (here / "dangling.yaml").symlink_to("gone.yaml")
    (here / "through.yaml").symlink_to("plain/gone.yaml")
    (here / "loop.yaml").symlink_to("loop.yaml")
    with pytest.raises(ProblemError) as raised:
        find_recipe(reference, cwd=here)
    problem = raised.value.problem
    assert (problem.code, problem.file) == ("S011", str(here / file))
    assert reason in problem.detail["reason"]


def test_only_files_are_near(here: Path) -> None:
    (here / "namedd.yaml").mkdir()
    (here / "namedx.yaml").symlink_to("gone.yaml")
    with pytest.raises(ProblemError) as raised:
        find_recipe("namede.yaml", cwd=here)
    assert raised.value.problem.detail["nearest"] == []


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_reference_is_found_or_reported(reference: str) -> None:
    try:
        find_recipe(reference, cwd=Path("/nonexistent"))
    except ProblemError as error:
        assert error.problem.code == "S010"
