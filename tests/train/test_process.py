"""A rank as a process: real child processes that import nothing heavy."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.findings import Finding
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train.failure import failure

REPOSITORY = Path(__file__).parents[2]
HEAD = """
import sys, os, time, signal
from fsdpwiz.train import process
this = process.this_process(sys.argv[1:])
process.begin(this)
"""


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    (tmp_path / "plan.json").write_text("{}")
    return RunFolder(tmp_path)


def start(folder: RunFolder, body: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + body, str(folder.plan)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "RANK": "3", "FSDPWIZ_ATTEMPT": "2", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(folder: RunFolder, body: str, **environment: str) -> tuple[int, str, str]:
    """Exit code, what leaked past the log, the log."""
    process = start(folder, body, **environment)
    leaked, _ = process.communicate(timeout=30)
    return process.returncode, leaked, folder.attempt(2).rank_log(3).read_text()


def test_everything_printed_lands_in_the_log(folder: RunFolder) -> None:
    body = """
def work():
    print("python")
    os.write(1, b"descriptor 1\\n")
    os.write(2, b"descriptor 2\\n")
    os.system("echo child")
    assert "torch" not in sys.modules and "numpy" not in sys.modules
process.finish(this, work)
"""
    assert finished(folder, body) == (0, "", "python\ndescriptor 1\ndescriptor 2\nchild\n")


def test_an_exception_is_written_down(folder: RunFolder, tmp_path: Path) -> None:
    elastic = tmp_path / "elastic.json"
    body = "def work(): raise ValueError('no such thing')\nprocess.finish(this, work)"
    code, leaked, log = finished(folder, body, TORCHELASTIC_ERROR_FILE=str(elastic))
    assert (code, leaked) == (1, "")
    assert "Traceback" in log
    document = json.loads(folder.attempt(2).error(3).read_text())
    assert document["message"]["message"] == "ValueError: no such thing"
    assert "def work" in document["message"]["extraInfo"]["py_callstack"] or "in work" in log
    assert document["rank"] == 3
    assert document["finding"] is None
    assert json.loads(elastic.read_text()) == document


@pytest.mark.parametrize(
    ("raised", "code", "recorded"),
    [
        ("SystemExit(0)", 0, False),
        ("SystemExit()", 0, False),
        ("SystemExit(7)", 7, True),
        ("SystemExit('words')", 1, True),
        ("KeyboardInterrupt()", 130, False),
        ("MemoryError()", 1, True),
    ],
)
def test_exit_codes(raised: str, code: int, recorded: bool, folder: RunFolder) -> None:
    body = f"def work(): raise {raised}\nprocess.finish(this, work)"
    assert finished(folder, body)[0] == code
    assert folder.attempt(2).error(3).exists() == recorded


def test_sigterm_leaves_the_stacks_even_of_a_blocked_call(folder: RunFolder) -> None:
    body = "def blocked():\n    print('ready', flush=True); time.sleep(60)\nprocess.finish(this, blocked)"
    process = start(folder, body)
    log = folder.attempt(2).rank_log(3)
    deadline = time.monotonic() + 20
    while not (log.exists() and "ready" in log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == -signal.SIGTERM
    assert folder.attempt(2).stack(3).read_text().count("in blocked") == 2
    assert not folder.attempt(2).error(3).exists()


@pytest.mark.parametrize("arguments", [[], ["no-such-plan.json"], ["a", "b"]])
def test_wrong_usage(arguments: list[str]) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "fsdpwiz.train", *arguments], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert outcome.returncode == 2
    assert outcome.stderr == "usage: python -m fsdpwiz.train PLAN.json\n"


def test_a_failure_carries_its_finding() -> None:
    finding = Finding(
        code="P010", name="world-differs-from-plan", severity="error", message="Rank 1 is alone"
    )
    document = failure(1, FsdpwizError(finding))
    assert document["finding"]["code"] == "P010"
    assert document["message"]["message"] == "FsdpwizError: Rank 1 is alone"
    assert int(document["message"]["extraInfo"]["timestamp"]) <= document["time"]
    assert json.loads(json.dumps(document)) == document


def test_a_failure_is_bounded() -> None:
    document = failure(0, ValueError("x" * 1_000_000))
    assert len(json.dumps(document)) < 300_000
