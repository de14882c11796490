"""What is printed, and where: streams, quiet, control characters, findings, closed and narrow streams."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from fsdpwiz.cli.finding_text import finding_lines
from fsdpwiz.cli.output import Output
from fsdpwiz.core.findings import Excerpt, Finding, Fix, Quantity


@pytest.fixture
def out() -> Output:
    return Output()


def _finding(**changes: object) -> Finding:
    values = {"code": "S001", "name": "unknown-key", "severity": "error", "message": "`x` is not a key"}
    return Finding(**{**values, **changes})  # type: ignore[arg-type]


def test_data_on_stdout_notes_on_stderr(out: Output, capsys: pytest.CaptureFixture[str]) -> None:
    out.data("rows")
    out.note("working")

    assert capsys.readouterr() == ("rows\n", "working\n")


def test_quiet_leaves_data_warnings_and_errors(out: Output, capsys: pytest.CaptureFixture[str]) -> None:
    out.quiet = True
    out.data("rows")
    out.note("working")
    out.warn("careful")
    out.findings([_finding(severity="info", message="by the way"), _finding()])

    stdout, stderr = capsys.readouterr()

    assert stdout == "rows\n"
    assert "working" not in stderr
    assert "by the way" not in stderr
    assert "careful" in stderr
    assert "`x` is not a key" in stderr


def test_details_need_v(out: Output, capsys: pytest.CaptureFixture[str]) -> None:
    out.detail("small")
    out.verbose = True
    out.detail("print")

    assert capsys.readouterr().err == "print\n"


def test_json_leaves_only_the_document_on_stdout(out: Output, capsys: pytest.CaptureFixture[str]) -> None:
    out.json = True
    out.data("rows")
    out.findings([_finding()], to="stdout")
    out.document({"rows": ["é", "\x1b"], "path": Path("/a")})

    stdout, _ = capsys.readouterr()

    assert json.loads(stdout) == {"schema": 1, "rows": ["é", "\x1b"], "path": "/a"}
    assert "\x1b" not in stdout


@pytest.mark.parametrize("method", ["data", "note", "warn"])
def test_control_characters_are_shown(method: str, out: Output, capsys: pytest.CaptureFixture[str]) -> None:
    getattr(out, method)("a\x1b[2Jb\x07\u202e")

    captured = capsys.readouterr()

    assert (captured.out or captured.err) == "a\\x1b[2Jb\\x07\\u202e\n"


def test_no_colour_without_a_terminal_or_with_no_color(out: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert not out.coloured("stderr")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert out.coloured("stderr")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not out.coloured("stderr")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not out.coloured("stderr")


def test_a_narrow_encoding_escapes_what_it_lacks(out: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))

    out.data("8 × A100")

    assert raw.getvalue() == b"8 \\xd7 A100\n"


def test_a_reader_that_goes_away_ends_nothing(out: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Gone())

    out.data("one")
    out.data("two")


def test_a_finding_shows_place_source_evidence_and_remedies(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("sft:\n  max_lenght: 256\n", encoding="utf-8")
    finding = _finding(
        file=str(recipe),
        line=2,
        key="sft.max_lenght",
        rank=3,
        evidence=(
            Quantity(name="length", value=256, unit="tokens", source="recipe"),
            Excerpt(source="rank-0.log", line=7, text="boom"),
        ),
        fixes=(Fix(title="rename it", edits={"sft.max_length": 256}, commands=("fsdpwiz schema",)),),
    )

    assert finding_lines(finding, folder=tmp_path, colour=False) == [
        "error S001 `x` is not a key",
        "  at recipe.yaml:2 `sft.max_lenght` rank 3",
        "  2 |   max_lenght: 256",
        "  length: 256 tokens (recipe)",
        "  rank-0.log:7: boom",
        "  help: rename it",
        "    sft.max_length: 256",
        "    $ fsdpwiz schema",
    ]


def test_colour_adds_nothing_but_colour(tmp_path: Path) -> None:
    finding = _finding(fixes=(Fix(title="rename it"),))
    plain = finding_lines(finding, folder=tmp_path, colour=False)
    coloured = finding_lines(finding, folder=tmp_path, colour=True)

    stripped = [
        line.replace("\x1b[1;31m", "").replace("\x1b[1;32m", "").replace("\x1b[0m", "") for line in coloured
    ]

    assert coloured != plain
    assert stripped == plain


@pytest.mark.parametrize("line", [1, 99])
def test_a_source_line_that_is_not_there_is_left_out(line: int, tmp_path: Path) -> None:
    lines = finding_lines(_finding(file=str(tmp_path / "gone"), line=line), folder=Path("/"), colour=False)

    assert len(lines) == 2


def test_a_finding_from_a_hostile_recipe_cannot_steer_the_terminal(tmp_path: Path) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_bytes(b"a\x1b]0;x\x07: 1\n")
    finding = _finding(
        message="key `a\x1b[2J`", file=str(recipe), line=1, key="a\x1b", fixes=(Fix(title="\x9bx"),)
    )

    text = "\n".join(finding_lines(finding, folder=tmp_path, colour=False))

    assert not {character for character in text if ord(character) < 32} - {"\n"}
    assert "\x9b" not in text
