"""`fsdpwiz render`, `schema` and `explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fsdpwiz.cli.folder_write import write_folder
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.library import shipped
from fsdpwiz.rules.catalogue import modules
from tests.conftest import Invoke

DEMO = "smollm2-135m-sft"
FILES = ["accelerate.yaml", "command.txt", "torchrun.txt", "plan.json"]


@pytest.mark.parametrize("name", [recipe.name for recipe in shipped()])
def test_every_shipped_recipe_renders_on_any_machine(name: str, invoke: Invoke) -> None:
    outcome = invoke("render", name, "--json")

    assert outcome.exit_code == 0, outcome.stdout
    assert list(outcome.json["files"]) == FILES


def test_the_files_are_shown_in_order(invoke: Invoke) -> None:
    lines = invoke("render", DEMO).stdout.splitlines()

    assert [line[2:] for line in lines if line.startswith("# ") and line[2:] in FILES] == FILES


def test_out_writes_what_is_shown(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("render", DEMO, "--out", tmp_path / "files", "sft.max_steps=7")

    assert outcome.exit_code == 0
    assert outcome.stdout == ""
    assert sorted(path.name for path in tmp_path.glob("files/*")) == sorted(FILES)
    plan = Plan.read(tmp_path / "files" / "plan.json")
    assert plan.training["max_steps"] == 7
    assert plan.origins["sft.max_steps"]["source"] == "override"
    command = (tmp_path / "files" / "command.txt").read_text("utf-8")
    assert str(tmp_path / "files" / "accelerate.yaml") in command


def test_nothing_is_written_for_a_recipe_with_errors(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("render", DEMO, "--out", tmp_path / "files", "sft.max_stps=7")

    assert outcome.exit_code == 1
    assert "S001" in outcome.stderr
    assert not (tmp_path / "files").exists()


def test_a_failed_write_names_what_the_user_named(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").touch()
    for target in (tmp_path / "r.yaml", Path("/proc/foo")):
        outcome = invoke("render", "llama2-7b-sft", "--out", target, "--json")

        assert outcome.exit_code == 1
        failed = [finding for finding in outcome.json["findings"] if finding["severity"] == "error"]
        assert [finding["file"] for finding in failed] == [str(target)]


def test_effective_shows_values_and_their_origins(invoke: Invoke) -> None:
    text = invoke("render", DEMO, "--effective", "sft.max_steps=7").stdout

    for part in ("accelerate.yaml", "FSDP_VERSION", "LlamaDecoderLayer", "max_steps"):
        assert part in text
    assert set(invoke("render", DEMO, "--effective", "--json").json["effective"]) >= {
        "yaml",
        "environment",
        "plugin",
    }


def test_several_nodes_have_a_line_each(invoke: Invoke) -> None:
    files = invoke("render", "llama2-70b-sft", "--json").json["files"]

    assert files["command.txt"].count("--machine_rank") == 2
    assert "# on node 1" in files["command.txt"]
    assert "MAIN_ADDRESS" in files["command.txt"]


def test_writing_a_folder_is_all_or_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "a").write_text("old", encoding="utf-8")

    with pytest.raises(OSError, match="there"):
        write_folder(folder, {"a": "new", "b/c": "no such folder"})

    assert (folder / "a").read_text("utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_the_schema_is_json_schema_and_fits_the_shipped_recipes(invoke: Invoke) -> None:
    schema = json.loads(invoke("schema").stdout)

    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"model", "data", "sft", "fsdp", "peft", "cluster"} <= set(schema["properties"])
    assert invoke("schema", "--json").json == {"schema": 1, **schema}


@pytest.mark.parametrize("code", list(modules()))
def test_every_code_is_explained(code: str, invoke: Invoke) -> None:
    outcome = invoke("explain", code)

    assert outcome.exit_code == 0
    assert outcome.stdout.startswith(f"{code} ")
    for heading in ("## What", "## Why", "## Example", "## How to fix", "## When to ignore"):
        assert heading in outcome.stdout


@pytest.mark.parametrize("spelling", ["s001", "unknown-key", "Unknown-Key"])
def test_codes_and_names_in_any_case(spelling: str, invoke: Invoke) -> None:
    assert invoke("explain", spelling, "--json").json["code"] == "S001"


def test_an_unknown_code_names_the_nearest(invoke: Invoke) -> None:
    outcome = invoke("explain", "unknown-kye")

    assert outcome.exit_code == 2
    assert "near it: unknown-key" in outcome.stderr
