"""The shipped recipes' list, and that getting it costs next to nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fsdpwiz.recipe import library
from fsdpwiz.recipe.library import shipped


def test_names_and_titles() -> None:
    found = {recipe.name: recipe for recipe in shipped()}
    assert list(found) == sorted(found)
    demo = found["smollm2-135m-sft"]
    assert demo.path.read_text(encoding="utf-8").startswith(f"# {demo.title}\n")


def test_installed_folder_goes_before_the_source_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_PACKAGE", tmp_path / "fsdpwiz")
    assert shipped() == []
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "a.yaml").write_text("#   A title  \nx: 1\n")
    assert [(recipe.name, recipe.title) for recipe in shipped()] == [("a", "A title")]
    installed = tmp_path / "fsdpwiz" / "shipped_recipes"
    installed.mkdir(parents=True)
    (installed / "b.yaml").write_bytes(b"# \xff" + b"x" * 10_000)
    (installed / "data").mkdir()
    assert [recipe.name for recipe in shipped()] == ["b"]
    assert len(shipped()[0].title) < 5000


def test_import_brings_nothing_heavy() -> None:
    code = "import sys, fsdpwiz.recipe.library as l; l.shipped(); print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    heavy = {"pydantic", "ruamel", "ruamel.yaml", "dataclasses", "inspect", "json", "difflib"}
    assert not heavy & set(run.stdout.split())
