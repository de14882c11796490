"""A file system that ran full: by what is said and what is left, and never over another cause."""

import os
from types import SimpleNamespace

import pytest

from fsdpwiz.launch.failure import Failure
from fsdpwiz.launch.findings import of_shortage
from fsdpwiz.launch.space import shortage
from fsdpwiz.runs.layout import RunFolder
from tests.launch.runs import launched

GB = 1_000_000_000
ERRNO = "OSError: [Errno 28] No space left on device: 'model.safetensors'"
ZIP = "RuntimeError: [enforce fail at inline_container.cc:664] . unexpected pos 64 vs 0"


def failure(message, *, traceback="Traceback ...", **more):
    return Failure(rank=1, exit_code=1, message=message, traceback=traceback, **more)


@pytest.fixture
def run(tmp_path):
    run = RunFolder(tmp_path)
    run.attempt(1).folder.mkdir(parents=True)
    return run


@pytest.fixture
def left(monkeypatch):
    def set_left(free_bytes, free_files=100):
        space = SimpleNamespace(
            f_bavail=free_bytes, f_frsize=1, f_blocks=20 * GB, f_files=1000, f_favail=free_files
        )
        monkeypatch.setattr(os, "statvfs", lambda path: space)

    return set_left


def found(run, failed=None):
    short = shortage(run, run.attempt(1), failed)
    return None if short is None else of_shortage(short, failed)


@pytest.mark.parametrize(
    "failed",
    [
        None,
        Failure(rank=None, exit_code=None, message="exited"),
        failure("exit code 1", traceback=""),
        failure("Connection closed by peer", secondary=True),
        failure(ZIP),
        failure(ERRNO),
    ],
)
def test_a_full_file_system_is_named_with_its_numbers(failed, run, left):
    left(0)
    finding = found(run, failed)
    assert (finding.code, finding.severity, finding.key) == ("P003", "error", "output_dir")
    assert f"`{run.root}` has too little free space: 0 B of 20 GB free" in finding.message


def test_a_rank_s_word_counts_though_space_is_free_again(run, left):
    left(5 * GB)
    finding = found(run, failure(ERRNO))
    assert (finding.code, finding.rank) == ("P003", 1)
    assert finding.message == f"A file system ran full: {ERRNO}; `{run.root}` has 5 GB of 20 GB free now"


@pytest.mark.parametrize("log", ["rank-1.log", "launcher-0.log"])
def test_a_log_s_word_counts_where_no_rank_gives_a_cause(log, run, left):
    left(5 * GB)
    (run.attempt(1).folder / log).write_text(f"step 1\n{ERRNO}\nbye\n")
    assert ERRNO in found(run).message
    assert found(run, failure("ValueError: row 7 is bad")) is None


def test_no_inodes(run, left):
    left(5 * GB, free_files=0)
    assert "can hold no further file" in found(run).message


@pytest.mark.parametrize(
    ("free_bytes", "failed"),
    [(5 * GB, None), (5 * GB, failure(ZIP)), (0, failure("ValueError: row 7 is bad"))],
)
def test_another_cause_is_not_hidden(free_bytes, failed, run, left):
    left(free_bytes)
    assert found(run, failed) is None


def test_a_launch_on_a_full_disk_says_so(tmp_path, left):
    left(0)
    outcome, run = launched(tmp_path / "run", "crash")
    assert (outcome.state, outcome.finding.code) == ("failed", "P003")
    assert str(run.root) in outcome.finding.message
