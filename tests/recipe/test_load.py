"""Recipes read: what is legal, what is reported, what stands beside a fault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.core.origin import Origin
from fsdpwiz.recipe.load import load_recipe, read_recipe
from tests.recipe.case_files import cases, names

FAULTS = cases("faults")
LEGAL = cases("legal")
UNREADABLE = cases("unreadable")
ENOUGH = "model: {name_or_path: some/model}\ndata: {name_or_path: some/data}\n"


def complete(text: str) -> str:
    """`text` with a model and data behind it, unless it has its own."""
    if "\nmodel:" in f"\n{text}" or "\ndata:" in f"\n{text}":
        return text
    return text.removesuffix("...\r\n").rstrip("\n") + "\n" + ENOUGH


@pytest.mark.parametrize("case", FAULTS, ids=names(FAULTS))
def test_fault_is_reported_with_its_place(case: dict[str, Any]) -> None:
    recipe = read_recipe(complete(case["recipe"]), path=Path("recipe.yaml"))
    assert [(found.code, found.key) for found in recipe.problems] == [
        (wanted["code"], wanted["key"]) for wanted in case["problems"]
    ]
    for found, wanted in zip(recipe.problems, case["problems"], strict=True):
        assert found.file == "recipe.yaml"
        assert found.line == wanted.get("line")
        for name, value in wanted.items():
            if name not in ("code", "key", "line"):
                got = found.detail.get(name)
                assert (list(got) if isinstance(got, tuple) else got) == value, name


@pytest.mark.parametrize("case", FAULTS, ids=names(FAULTS))
def test_faulty_key_is_left_out(case: dict[str, Any]) -> None:
    recipe = read_recipe(complete(case["recipe"]))
    for problem in recipe.problems:
        if problem.code != "S005" and problem.key is not None:
            assert not recipe.has(problem.key)
            assert recipe.value(problem.key) is None


@pytest.mark.parametrize("case", LEGAL, ids=names(LEGAL))
def test_legal_recipe_is_read_as_written(case: dict[str, Any]) -> None:
    recipe = read_recipe(complete(case["recipe"]))
    assert recipe.problems == ()
    given = {name: value for name, value in recipe.given.items() if name not in ("model", "data")}
    assert given == case["given"]
    assert _types(given) == _types(case["given"])


@pytest.mark.parametrize("case", UNREADABLE, ids=names(UNREADABLE))
def test_nothing_to_judge(case: dict[str, Any]) -> None:
    text = case["text"].replace("\ud800", "\\ud800") if case.get("escaped") else case["text"]
    with pytest.raises(ProblemError) as raised:
        read_recipe(text, path=Path("recipe.yaml"))
    problem = raised.value.problem
    assert (problem.code, problem.file, problem.line) == (case["code"], "recipe.yaml", case["line"])
    for name in ("reason", "got", "limit"):
        assert case.get(name, "") in str(problem.detail.get(name, ""))


def test_one_call_names_all_faults() -> None:
    lines = (
        "max_lenght: 2048",
        "evaluation_strategy: steps",
        'max_length: "2048"',
        "packing: yes",
        "lr_scheduler_type: cosin",
        "per_device_train_batch_size: 0",
        "bf16: true",
        "packing: true",
    )
    text = "sft:\n" + "".join(f"  {line}\n" for line in lines) + "mixed_precision: bfloat16\n" + ENOUGH
    problems = read_recipe(text, ["fsdp.version=3", "x"], path=Path("r.yaml")).problems
    assert [problem.line for problem in problems] == [*range(2, 11), None, None]
    codes = ["S001", "S001", "S002", "S002", "S003", "S003", "S004", "S005", "S003", "S003", "S014"]
    assert [problem.code for problem in problems] == codes


def test_what_stands_beside_a_fault_is_kept() -> None:
    recipe = read_recipe("sft:\n  max_length: x\n  max_steps: 5\n" + ENOUGH)
    assert recipe.given["sft"] == {"max_steps": 5}
    assert recipe.settings.section("sft").given() == {"max_steps": 5}


def test_first_of_a_key_given_twice_counts() -> None:
    assert read_recipe("sft: {max_steps: 5, max_steps: 6}\n" + ENOUGH).value("sft.max_steps") == 5


def test_origins_have_file_and_line() -> None:
    recipe = read_recipe("# demo\nsft:\n  max_steps: 5\nenv:\n  A: 1\n" + ENOUGH, path=Path("r.yaml"))
    wanted = {"sft": 2, "sft.max_steps": 3, "env": 4, "env.A": 5, "model": 6, "model.name_or_path": 6}
    for key, line in wanted.items():
        assert recipe.origins[key] == Origin(source="recipe", file="r.yaml", line=line)


@pytest.mark.parametrize(
    ("text", "has", "value"), [("", False, None), ("fsdp:\n", True, None), ("fsdp: {}\n", True, {})]
)
def test_absent_null_and_empty_sections_differ(text: str, has: bool, value: object) -> None:
    recipe = read_recipe(text + ENOUGH)
    assert recipe.has("fsdp") is has
    assert recipe.value("fsdp", "nothing") == (value if has else "nothing")
    assert (recipe.settings.fsdp is None) is (value is None)


def test_method_section_is_empty_where_absent_or_null() -> None:
    for text in ("", "sft:\n", "sft: {}\n"):
        assert read_recipe(text + ENOUGH).settings.section("sft").given() == {}


def test_script_needs_neither_model_nor_data() -> None:
    assert read_recipe("script: train.py\n").problems == ()


def test_secret_is_never_in_a_problem() -> None:
    secret = "hf_0123456789abcdefghijklmn"
    text = (
        f"sft: {{hub_token: {secret}, max_length: {secret}}}\nwandb_key: {secret}\nenv: {{A: [{secret}]}}\n"
    )
    problems = read_recipe(text + ENOUGH, ["sft.packing=" + secret, "x " + secret]).problems
    assert len(problems) == 6
    assert secret not in repr(problems)


def test_many_unknown_keys_are_all_reported() -> None:
    recipe = read_recipe("".join(f"maxlength{number}: 1\n" for number in range(1000)) + ENOUGH)
    assert len(recipe.problems) == 1000


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"a: 1\nb: \xff\n", 2), (b"a: 1\n\nb: \x00", 3), (b"a: \x1b[31m", 1), ("a: x".encode("utf-16"), 1)],
)
def test_bytes_that_are_not_text(tmp_path: Path, content: bytes, line: int) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(content)
    with pytest.raises(ProblemError) as raised:
        load_recipe(path)
    assert (raised.value.problem.code, raised.value.problem.line) == ("S011", line)


def test_file_of_a_megabyte_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("#" * 1_000_001)
    with pytest.raises(ProblemError) as raised:
        load_recipe(path)
    assert raised.value.problem.code == "S013"


def test_folder_fifo_and_missing_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "absent", Path("a\0b"), Path("/dev/null")):
        with pytest.raises(ProblemError) as raised:
            load_recipe(path)
        assert raised.value.problem.code == "S011"


def _types(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _types(inner) for name, inner in value.items()}
    return [_types(inner) for inner in value] if isinstance(value, list) else type(value)
