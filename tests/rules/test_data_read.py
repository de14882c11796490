"""The rules on data say the right thing of files that the real reader has read."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdpwiz.core.findings import Finding
from fsdpwiz.facts.data.read import read_data
from fsdpwiz.facts.types import Facts
from fsdpwiz.methods.method import methods
from fsdpwiz.recipe.load import read_recipe
from fsdpwiz.rules.engine import check
from fsdpwiz.rules.subject import Subject


def findings(folder: Path, text: str, *, name: str = "data.jsonl") -> list[Finding]:
    (folder / name).write_text(text, encoding="utf-8")
    recipe = read_recipe(
        f"model: {{name_or_path: a/b}}\ndata: {{name_or_path: {name}}}\n", path=folder / "recipe.yaml"
    )
    formats = methods()["sft"].data_formats
    data = read_data(name, split=None, formats=formats, base_folders=[folder])
    subject = Subject(verb="run", recipe=recipe, facts=Facts(data=data))
    return list(check(subject, select=["J030", "J031", "J032"]).findings)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('{"text": "a"}\n{"text": "b"}\n', []),
        ('{"prompt": "a", "completion": "b"}\n', []),
        ('{"text": "a"}\n{"text":\n', ["J030"]),
        ('{"question": "a"}\n{"question": "b"}\n', ["J031"]),
        ('{"text": "a"}\n{"question": "b"}\n', ["J030"]),
        ('{"prompt": "a"}\n{"prompt": "b"}\n', ["J031"]),
        ("[1]\n", ["J030"]),
        ("", ["J032"]),
    ],
)
def test_one_code_for_each_fault(tmp_path: Path, text: str, codes: list[str]) -> None:
    assert [finding.code for finding in findings(tmp_path, text)] == codes


def test_broken_line_is_named(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, '{"text": "a"}\n{"text": 7}\n')
    assert (found.file, found.line) == (str(tmp_path / "data.jsonl"), 2)
    assert "Line 2 of" in found.message


def test_shape_is_said_once(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, '{"q": "a"}\n' * 500)
    assert found.message.endswith("the row has `q`, not `messages`, or `prompt` with `completion`, or `text`")


def test_a_split_that_is_not_there_is_blamed_on_its_key(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "train.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "d.jsonl").write_text('{"text": "a"}\n')
    for name in ("d", "d.jsonl"):
        recipe = read_recipe(
            f"model: {{name_or_path: a/b}}\ndata:\n  name_or_path: {name}\n  eval_split: test\n",
            path=tmp_path / "recipe.yaml",
        )
        data, eval_data = (
            read_data(name, split=split, formats=methods()["sft"].data_formats, base_folders=[tmp_path])
            for split in (None, "test")
        )
        subject = Subject(verb="run", recipe=recipe, facts=Facts(data=data, eval_data=eval_data))
        (found,) = check(subject, select=["J030", "J031", "J032"]).findings
        assert (found.key, found.line) == ("data.eval_split", 4)
        assert f"`data.eval_split: test` cannot be read of `{name}`: no split `test`" in found.message
