"""The command line as a whole: help, version, usage errors, options before and after the verb, exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fsdpwiz
from fsdpwiz.cli import main as main_module
from fsdpwiz.cli.main import build_command
from fsdpwiz.cli.output import out
from fsdpwiz.cli.verb_group import load_verb, verb_help, verb_names
from fsdpwiz.core.errors import ProblemError
from fsdpwiz.core.problem import Problem
from tests.conftest import Invoke

VERBS_AT_LEAST = 5
FSDPWIZ = Path(sys.executable).with_name("fsdpwiz")


def test_help_lists_every_verb_with_its_whole_first_line(invoke: Invoke) -> None:
    outcome = invoke("--help")

    assert outcome.exit_code == 0
    assert len(verb_names()) >= VERBS_AT_LEAST
    for name in verb_names():
        assert f"{name} " in outcome.stdout
        assert verb_help(name) in outcome.stdout, (
            f"the first docstring line of {name} does not fit on its line"
        )


def test_without_a_verb_it_shows_help(invoke: Invoke) -> None:
    assert invoke().stdout == invoke("--help").stdout


@pytest.mark.parametrize("name", verb_names())
def test_every_verb_loads_and_takes_the_shared_options(name: str, invoke: Invoke) -> None:
    outcome = invoke(name, "--help")

    assert outcome.exit_code == 0
    for option in ("--json", "--quiet", "-v", "--debug"):
        assert option in outcome.stdout
    assert load_verb(name).name == name


def test_version(invoke: Invoke) -> None:
    assert invoke("--version").stdout == f"fsdpwiz {fsdpwiz.__version__}\n"
    assert invoke("--version", "--json").json == {"schema": 1, "version": fsdpwiz.__version__}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["validat"], "no verb `validat`, did you mean `validate`"),
        (["xyzzy"], "no verb `xyzzy` (one of "),
        (["--nonsense"], "No such option: --nonsense"),
        (["validate", "--nonsense"], "No such option: --nonsense"),
        (["validate"], "Missing argument"),
        (["explain"], "Missing argument"),
        (["recipes", "nonsense"], "nonsense"),
    ],
)
def test_wrong_usage_is_one_message_and_exit_code_2(
    arguments: list[str], message: str, invoke: Invoke
) -> None:
    outcome = invoke(*arguments)

    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("error S020 ")
    assert message in outcome.stderr
    assert "--help" in outcome.stderr
    assert len(outcome.stderr.splitlines()) <= 3, "a usage error is no occasion for a screen of help"


@pytest.mark.parametrize("arguments", [["validat"], ["--nonsense"], ["validate"], ["explain", "Z999"]])
def test_wrong_usage_with_json_is_a_document(arguments: list[str], invoke: Invoke) -> None:
    outcome = invoke(*arguments, "--json")

    assert outcome.exit_code == 2
    assert outcome.json["schema"] == 1
    assert outcome.codes == ["S020"]
    assert outcome.stderr == ""


def test_json_behind_a_double_dash_is_not_ours(invoke: Invoke) -> None:
    outcome = invoke("explain", "S001", "--", "--json")

    assert outcome.exit_code == 2
    assert outcome.stdout == ""


@pytest.mark.parametrize("arguments", [["--json", "explain", "S001"], ["explain", "--json", "S001"]])
def test_shared_options_stand_before_or_after_the_verb(arguments: list[str], invoke: Invoke) -> None:
    assert invoke(*arguments).json["code"] == "S001"


def _fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_words: object) -> object:
        raise error

    monkeypatch.setattr("fsdpwiz.cli.verbs.explain._rule", fail)


def test_an_unforeseen_failure_is_a_message_without_traceback(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    _fails_with(monkeypatch, KeyError("mesh"))

    plain, debug = invoke("explain", "S001"), invoke("explain", "S001", "--debug")

    assert plain.exit_code == debug.exit_code == 2
    assert "S031" in plain.stderr
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr
    assert invoke("explain", "S001", "--json").codes == ["S031"]


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (PermissionError(13, "Permission denied", "/x/y"), "S030", 1),
        (ProblemError(Problem(code="S010", detail={"reference": "x", "nearest": []})), "S010", 2),
        (RuntimeError("what"), "S031", 2),
    ],
)
def test_failures_are_findings(
    error: Exception, code: str, exit_code: int, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    _fails_with(monkeypatch, error)

    outcome = invoke("explain", "S001", "--json")

    assert outcome.codes == [code]
    assert outcome.exit_code == exit_code


def test_ctrl_c_is_exit_code_130(monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    _fails_with(monkeypatch, KeyboardInterrupt())

    outcome = invoke("explain", "S001")

    assert outcome.exit_code == 130
    assert outcome.stderr == "interrupted\n"


def test_options_of_one_command_do_not_reach_the_next(invoke: Invoke) -> None:
    invoke("explain", "S001", "-q", "-v", "--debug", "--json")
    assert out.quiet
    assert out.json

    invoke("explain", "S001")
    assert not (out.quiet or out.debug or out.json or out.verbose)


@pytest.mark.parametrize("arguments", [["--help"], ["schema"], ["recipes"], ["explain", "S001"]])
def test_a_closed_pipe_is_silent(arguments: list[str]) -> None:
    command = [str(FSDPWIZ), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()

    _, errors = process.communicate(timeout=60)

    assert "Broken" not in errors
    assert "Traceback" not in errors
    assert process.returncode == 0


def test_python_m_fsdpwiz_is_the_same_program() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "fsdpwiz", "--version"], capture_output=True, text=True, timeout=60, check=True
    )

    assert result.stdout == f"fsdpwiz {fsdpwiz.__version__}\n"


def test_the_usage_error_base_is_not_as_wide_as_all_of_clicks() -> None:
    assert main_module._UsageError.__name__ == "UsageError"
    assert build_command().name == "fsdpwiz"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_fault(closed: str) -> None:
    """A shell's `>&-`: the process begins without the stream."""
    for words, code in (("explain S001", 0), ("validate nowhere-at-all", 2), ("schema --json", 0)):
        line = f"{sys.executable} -m fsdpwiz {words} {closed}"
        result = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60)

        assert result.returncode == code, (words, result.stderr)
        assert "Traceback" not in result.stderr + result.stdout
        assert "S031" not in result.stderr + result.stdout
        assert "unknown-key" in result.stdout or ">&-" in closed.replace("2>&-", "") or "S001" not in words


@pytest.mark.parametrize("words", ["explain S001", "validate nowhere-at-all --json", "--version"])
@pytest.mark.parametrize("stdout", [">/dev/full", "1</dev/null"])
def test_a_stdout_that_takes_nothing_fails_without_a_traceback(words: str, stdout: str) -> None:
    line = f"{sys.executable} -m fsdpwiz {words} {stdout}"
    result = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60)

    assert result.returncode == 1, result.stderr
    assert "S030" in result.stderr
    assert "Traceback" not in result.stderr and "Exception ignored" not in result.stderr
