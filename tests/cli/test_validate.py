"""`fsdpwiz validate`: the document, the text, several files, exit codes, choice of rules, bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Invoke

GOOD = """\
model: {name_or_path: tiny}
data: {name_or_path: rows.jsonl}
cluster: {device: cpu, processes_per_node: 2}
sft: {max_length: 64, max_steps: 2}
"""
CONFIG = '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64}'
ROW = '{"text": "one"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model's config and weights, data, and good.yaml; the current one."""
    work = tmp_path / "work"
    (work / "tiny").mkdir(parents=True)
    (work / "tiny" / "config.json").write_text(CONFIG, encoding="utf-8")
    (work / "tiny" / "tokenizer.json").write_text("{}", encoding="utf-8")
    (work / "tiny" / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    (work / "rows.jsonl").write_text(ROW * 64, encoding="utf-8")
    (work / "good.yaml").write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(work)
    return work


def _recipe(folder: Path, text: str, name: str = "bad.yaml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return name


def test_a_good_recipe(folder: Path, invoke: Invoke) -> None:
    outcome = invoke("validate", "good", "--json")

    assert outcome.exit_code == 0, outcome.stdout
    document = outcome.json
    assert set(document) == {"schema", "findings", "counts", "skipped", "ignored"}
    assert set(document["counts"]) == {"found", "passed", "skipped", "ignored", "crashed"}
    assert document["counts"]["crashed"] == 0
    assert document["counts"]["passed"] > 40
    assert document["counts"]["skipped"] == len(document["skipped"])
    assert all(entry["reason"] for entry in document["skipped"])


def test_the_text_says_what_where_and_what_to_do(folder: Path, invoke: Invoke) -> None:
    recipe = _recipe(folder, GOOD.replace("max_length", "max_lenght"))

    outcome = invoke("validate", recipe)

    assert outcome.exit_code == 1
    for part in (
        "error S001",
        "`sft.max_lenght`",
        "max_length",
        "bad.yaml:4",
        "4 | sft: {max_lenght: 64",
        "help: ",
    ):
        assert part in outcome.stdout
    assert "1 recipe: 1 error" in outcome.stderr


def test_several_recipes_and_overrides(folder: Path, invoke: Invoke) -> None:
    recipe = _recipe(folder, GOOD.replace("max_length", "max_lenght"))

    outcome = invoke("validate", "good.yaml", recipe, "sft.max_stps=3", "--json")

    assert outcome.exit_code == 1
    assert outcome.codes.count("S001") == 3


def test_only_overrides_is_wrong_usage(folder: Path, invoke: Invoke) -> None:
    assert invoke("validate", "sft.max_steps=3").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (["--select", "S"], ["S001"]),
        (["--select", "A,B"], []),
        (["--select", "s001"], ["S001"]),
        (["--ignore", "S001"], ["S001"]),
    ],
)
def test_the_choice_of_rules(arguments: list[str], codes: list[str], folder: Path, invoke: Invoke) -> None:
    recipe = _recipe(folder, GOOD.replace("max_length", "max_lenght"))

    assert invoke("validate", recipe, *arguments, "--json").codes == codes


def test_strict_counts_warnings(folder: Path, invoke: Invoke) -> None:
    recipe = _recipe(
        folder, GOOD.replace("model: {", "model: {dtype: bfloat16, ") + "mixed_precision: bf16\n"
    )

    plain, strict = invoke("validate", recipe, "--json"), invoke("validate", recipe, "--json", "--strict")

    assert {finding["severity"] for finding in plain.json["findings"]} & {"warning"}
    assert (plain.exit_code, strict.exit_code) == (0, 1)


@pytest.mark.parametrize(
    ("text", "code", "exit_code"),
    [
        (None, "S010", 2),
        ("a: [", "S011", 2),
        ("\x00\x01", "S011", 2),
        ("- a\n- b\n", "S012", 2),
        ("just text\n", "S012", 2),
        ("a: &a [*a]\n", None, 2),
        (GOOD + "sft: {max_steps: 3}\n", "S005", 1),
        (GOOD.replace("max_steps: 2", "max_steps: [2]"), "S002", 1),
        (GOOD + "mixed_precision: fp4\n", "S003", 1),
        (GOOD.replace("max_steps: 2", "bf16: true"), "S004", 1),
    ],
)
def test_bad_recipes(
    text: str | None, code: str | None, exit_code: int, folder: Path, invoke: Invoke
) -> None:
    recipe = "missing.yaml" if text is None else _recipe(folder, text)

    human, machine = invoke("validate", recipe), invoke("validate", recipe, "--json")

    assert (human.exit_code, machine.exit_code) == (exit_code, exit_code)
    assert code is None or code in machine.codes
    assert "Traceback" not in human.stdout + human.stderr
    assert all(finding["message"] for finding in machine.json["findings"])


def test_a_missing_recipe_beside_a_good_one_leaves_something_judged(folder: Path, invoke: Invoke) -> None:
    outcome = invoke("validate", "good", "missing", "--json")

    assert outcome.exit_code == 1
    assert outcome.codes == ["S010"]
    assert outcome.json["counts"]["passed"] > 40


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        (ROW * 3 + "{broken\n" + ROW, "rows.jsonl"),
        ('{"question": "q"}\n' * 4, "question"),
        ("", "rows.jsonl"),
    ],
)
def test_bad_data_is_found_with_its_place(rows: str, part: str, folder: Path, invoke: Invoke) -> None:
    (folder / "rows.jsonl").write_text(rows, encoding="utf-8")

    outcome = invoke("validate", "good")

    assert outcome.exit_code == 1
    assert part in outcome.stdout


def test_a_model_folder_without_weights_is_found(folder: Path, invoke: Invoke) -> None:
    (folder / "tiny" / "model.safetensors").unlink()

    outcome = invoke("validate", "good")

    assert outcome.exit_code == 1
    assert "tiny" in outcome.stdout


def test_a_script_that_is_not_there_is_found(folder: Path, invoke: Invoke) -> None:
    (folder / "train.py").write_text("print(1)", encoding="utf-8")
    outcome = invoke("validate", _recipe(folder, GOOD + "script: trian.py\n"), "--json")
    found = [finding for finding in outcome.json["findings"] if finding["code"] == "P026"]
    assert outcome.exit_code == 1 and [(finding["key"], finding["line"]) for finding in found] == [
        ("script", 5)
    ]
    assert "no such file; there is `train.py`" in found[0]["message"]


def test_nobody_can_see_the_findings_in_another_order(folder: Path, invoke: Invoke) -> None:
    recipe = _recipe(folder, GOOD.replace("max_length", "max_lenght") + "mixed_precision: fp4\nnonsense: 1\n")

    first = invoke("validate", recipe, "--json").stdout

    assert first == invoke("validate", recipe, "--json").stdout


@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize(
    ("code", "hint"), [("ZZZ", "codes look like"), ("S01X", "the nearest is `S01"), ("a003x", "A003")]
)
def test_a_code_that_no_rule_has_is_a_usage_error(
    option: str, code: str, hint: str, folder: Path, invoke: Invoke
) -> None:
    outcome = invoke("validate", "good", option, f"J,{code}")

    assert outcome.exit_code == 2
    assert f"{option}: no rule has the code `{code.upper()}`" in outcome.stderr + outcome.stdout
    assert hint in outcome.stderr + outcome.stdout


def test_a_fault_of_the_command_line_is_placed_there(folder: Path, invoke: Invoke) -> None:
    outcome = invoke("validate", "good", "sft.max_lenght=5")
    assert "at `sft.max_lenght` on the command line" in outcome.stdout

    recipe = _recipe(folder, GOOD.replace("max_length", "max_lenght"))
    assert "on the command line" not in invoke("validate", recipe).stdout


def test_verbose_names_the_skipped_checks(invoke):
    assert "skipped P002: " in invoke("validate", "smollm2-135m-sft", "-v").stderr
    assert "skipped P002" not in invoke("validate", "smollm2-135m-sft").stderr
