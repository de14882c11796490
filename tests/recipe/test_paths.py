"""Where the paths of a recipe lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdpwiz.recipe.load import read_recipe
from fsdpwiz.recipe.paths import base_folders, resolve_path

ENOUGH = "model: {name_or_path: gpt2}\ndata: {name_or_path: d.jsonl}\n"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("recipe", "here"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "both.jsonl").touch()
    (tmp_path / "recipe" / "d.jsonl").touch()
    (tmp_path / "here" / "h.jsonl").touch()
    return tmp_path / "recipe", tmp_path / "here"


def test_beside_the_recipe_first_then_here(folders: tuple[Path, Path]) -> None:
    beside, here = folders
    recipe = read_recipe(ENOUGH, path=beside / "r.yaml")
    assert resolve_path(recipe, "d.jsonl", cwd=here) == beside / "d.jsonl"
    assert resolve_path(recipe, "h.jsonl", cwd=here) == here / "h.jsonl"
    assert resolve_path(recipe, "both.jsonl", cwd=here) == beside / "both.jsonl"
    assert resolve_path(recipe, str(here / "h.jsonl"), cwd=beside) == here / "h.jsonl"
    assert resolve_path(recipe, ".", cwd=here) == beside
    assert base_folders(recipe, cwd=here) == (beside, here)


def test_value_of_the_command_line_is_looked_for_here_first(folders: tuple[Path, Path]) -> None:
    beside, here = folders
    recipe = read_recipe(ENOUGH, ["data.name_or_path=both.jsonl"], path=beside / "r.yaml")
    assert resolve_path(recipe, "both.jsonl", cwd=here) == here / "both.jsonl"


def test_copy_of_a_recipe_keeps_its_base(folders: tuple[Path, Path], tmp_path: Path) -> None:
    beside, here = folders
    recipe = read_recipe(ENOUGH, path=tmp_path / "run" / "recipe.yaml", base=beside)
    assert resolve_path(recipe, "d.jsonl", cwd=here) == beside / "d.jsonl"


@pytest.mark.parametrize("value", ["gpt2", "some/model", "", "a\0b", "x" * 5000, "~nobody/x"])
def test_what_is_not_there_is_none(folders: tuple[Path, Path], value: str) -> None:
    beside, here = folders
    assert resolve_path(read_recipe(ENOUGH, path=beside / "r.yaml"), value, cwd=here) is None


def test_home_folder(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    beside, here = folders
    monkeypatch.setenv("HOME", str(here))
    assert resolve_path(read_recipe(ENOUGH, path=beside / "r.yaml"), "~/h.jsonl") == here / "h.jsonl"
