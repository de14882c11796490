"""`fsdpwiz recipes`: list, show, copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdpwiz.recipe.library import shipped
from tests.conftest import Invoke

SHIPPED_AT_LEAST = 8
DEMO = "smollm2-135m-sft"


def test_the_list_has_every_recipe_with_its_title(invoke: Invoke) -> None:
    outcome = invoke("recipes")

    assert outcome.exit_code == 0
    assert len(shipped()) >= SHIPPED_AT_LEAST
    assert outcome.stdout.splitlines() == [f"{recipe.name:<16}  {recipe.title}" for recipe in shipped()]


def test_the_list_as_json(invoke: Invoke) -> None:
    rows = invoke("recipes", "--json").json["recipes"]

    assert [row["name"] for row in rows] == [recipe.name for recipe in shipped()]
    assert all(Path(row["path"]).is_file() and row["title"] for row in rows)


@pytest.mark.parametrize("name", [DEMO, f"{DEMO}.yaml"])
def test_show_prints_the_file(name: str, invoke: Invoke) -> None:
    text = next(recipe.path for recipe in shipped() if recipe.name == DEMO).read_text("utf-8")

    assert invoke("recipes", "show", name).stdout == text
    assert invoke("recipes", "show", name, "--json").json["text"] == text


@pytest.mark.parametrize("verb", ["show", "copy"])
def test_a_name_that_is_not_there_names_the_nearest(
    verb: str, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = invoke("recipes", verb, "smolm2-135m-sft")

    assert outcome.exit_code == 2
    assert f"did you mean `{DEMO}`" in outcome.stderr


def test_a_copy_brings_the_data_and_validates(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = invoke("recipes", "copy", DEMO)

    assert outcome.exit_code == 0
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*l*")} >= {
        f"{DEMO}.yaml",
        "data/python-docs-qa.jsonl",
        "data/python-docs-qa-eval.jsonl",
    }
    assert (tmp_path / "data" / "README.md").is_file(), "the licence travels with the data"
    assert invoke("validate", f"{DEMO}.yaml").exit_code == 0
    assert not list(tmp_path.rglob(".*")), "no temporary file is left"


def test_a_copy_under_another_name(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("recipes", "copy", "llama2-7b-sft", tmp_path / "mine.yaml", "--json")

    assert outcome.json["written"] == [str(tmp_path / "mine.yaml")]


def test_a_copy_overwrites_only_when_forced(invoke: Invoke, tmp_path: Path) -> None:
    target = tmp_path / "llama2-7b-sft.yaml"
    target.write_text("mine", encoding="utf-8")

    refused = invoke("recipes", "copy", "llama2-7b-sft", tmp_path)

    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert target.read_text("utf-8") == "mine"
    assert invoke("recipes", "copy", "llama2-7b-sft", tmp_path, "--force").exit_code == 0
    assert target.read_text("utf-8") != "mine"


def test_nothing_is_copied_where_one_file_would_be_overwritten(invoke: Invoke, tmp_path: Path) -> None:
    data = tmp_path / "data" / "python-docs-qa.jsonl"
    data.parent.mkdir()
    data.write_text("mine", encoding="utf-8")

    assert invoke("recipes", "copy", DEMO, tmp_path).exit_code == 2
    assert not (tmp_path / f"{DEMO}.yaml").exists()


def test_a_folder_that_cannot_be_written_is_a_finding(invoke: Invoke, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()

    outcome = invoke("recipes", "copy", "llama2-7b-sft", blocked / "mine.yaml", "--json")

    assert outcome.exit_code == 1
    assert outcome.codes == ["S030"]


def test_a_copy_into_a_new_folder_makes_that_one_only(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("recipes", "copy", "llama2-7b-sft", tmp_path / "mine").exit_code == 0
    assert (tmp_path / "mine" / "llama2-7b-sft.yaml").is_file()

    outcome = invoke("recipes", "copy", "llama2-7b-sft", tmp_path / "no" / "such" / "x.yaml")

    assert outcome.exit_code == 2
    assert f"there is no folder `{tmp_path / 'no' / 'such'}`" in outcome.stderr
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("target", ["/proc/x.yaml", "/proc"])
def test_a_failed_copy_names_the_file_not_the_temporary(target: str, invoke: Invoke) -> None:
    outcome = invoke("recipes", "copy", "llama2-7b-sft", target, "--json")

    assert outcome.exit_code == 1
    wanted = target if target.endswith(".yaml") else f"{target}/llama2-7b-sft.yaml"
    assert [finding["file"] for finding in outcome.json["findings"]] == [wanted]
