"""Which rank is to blame, from error files and from what real launchers print."""

import json
import os

import pytest

from fsdpwiz.launch.failure import first_failure
from fsdpwiz.launch.findings import of_failure, of_os_error
from fsdpwiz.runs.layout import RunFolder
from tests.launch.runs import plan_of

PEER_GONE = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
    "[127.0.0.1]:39145. This is typically caused by a remote worker crashing."
)
TIMED_OUT = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:129] Timed out waiting "
    "10000ms for send operation to complete"
)
SUMMARY = """
W1201 04:11:53.159000 2262 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 2266 closing
E1201 04:11:53.3 2262 torch/api.py:1002] failed (exitcode: {code}) local_rank: {local_rank} (pid: 2267)
============================================================
fsdpwiz.train FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-12-01_04:11:53
  host      : node1
  rank      : {rank} (local_rank: {local_rank})
  exitcode  : {code} (pid: 2267)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 2267
============================================================
"""
SINGLE = (
    "subprocess.CalledProcessError: Command '['/usr/bin/python', '-m', 'fsdpwiz.train', 'plan.json']' {how}\n"
)


@pytest.fixture
def attempt(tmp_path):
    attempt = RunFolder(tmp_path).attempt(1)
    attempt.folder.mkdir(parents=True)
    return attempt


def write(attempt, rank, message, time, finding=None):
    inner = {
        "message": message,
        "extraInfo": {"py_callstack": f"Traceback\n{message}", "timestamp": str(int(time))},
    }
    document = {"message": inner, "rank": rank, "time": time, "finding": finding}
    attempt.error(rank).write_text(json.dumps(document))


def test_earliest_of_several_own_errors(attempt):
    write(attempt, 0, "ValueError: late", 100.9)
    write(attempt, 3, "ValueError: first", 100.2)
    write(attempt, 1, "ValueError: middle", 100.5)
    assert first_failure(attempt, plan_of()).rank == 3


@pytest.mark.parametrize("secondary", [PEER_GONE, TIMED_OUT])
def test_a_later_own_error_counts_more_than_a_lost_peer(secondary, attempt):
    write(attempt, 0, secondary, 100.0)
    write(attempt, 1, "ValueError: the cause", 103.0)
    failure = first_failure(attempt, plan_of())
    assert (failure.rank, failure.secondary) == (1, False)


def test_a_killed_rank_counts_more_than_a_lost_peer(attempt):
    write(attempt, 0, PEER_GONE, 100.0)
    attempt.launcher_log(0).write_text(SUMMARY.format(code=-9, rank=1, local_rank=1))
    failure = first_failure(attempt, plan_of())
    assert (failure.rank, failure.exit_code, failure.signal_name) == (1, -9, "SIGKILL")
    assert "SIGKILL" in of_failure(failure, 1).message and of_failure(failure, 1).rank == 1


def test_an_own_error_counts_more_than_a_signal(attempt):
    write(attempt, 0, "ValueError: the cause", 100.0)
    attempt.launcher_log(0).write_text(SUMMARY.format(code=-9, rank=1, local_rank=1))
    assert first_failure(attempt, plan_of()).rank == 0


def test_only_lost_peers_is_said(attempt):
    write(attempt, 0, TIMED_OUT, 100.0)
    attempt.launcher_log(0).write_text(SUMMARY.format(code=1, rank=0, local_rank=0))
    failure = first_failure(attempt, plan_of())
    assert failure.secondary and failure.exit_code == 1
    assert "another rank was gone" in of_failure(failure, 1).message


def test_signals_that_end_everything_are_no_cause(attempt):
    attempt.launcher_log(0).write_text(SUMMARY.format(code=-15, rank=1, local_rank=1))
    failure = first_failure(attempt, plan_of())
    assert failure.rank is None


@pytest.mark.parametrize(
    ("how", "code"),
    [("died with <Signals.SIGSEGV: 11>.", -11), ("returned non-zero exit status 7.", 7)],
)
def test_one_process_without_torchelastic(how, code, attempt):
    attempt.launcher_log(0).write_text("Traceback …\n" + SINGLE.format(how=how))
    failure = first_failure(attempt, plan_of("cluster.processes_per_node=1"))
    assert (failure.rank, failure.exit_code) == (0, code)


def test_ranks_of_the_second_node_are_counted_on(attempt):
    log = "failed (exitcode: -11) local_rank: 1 (pid: 2267) of binary: x"
    attempt.launcher_log(1).write_text(log)
    plan = plan_of("cluster.nodes=2", "cluster.processes_per_node=4")
    assert first_failure(attempt, plan).rank == 5


def test_the_finding_a_rank_wrote_is_the_finding(attempt):
    written = {
        "code": "P010",
        "name": "world-differs-from-plan",
        "severity": "error",
        "message": "Rank 1 \x1b[2J",
    }
    write(attempt, 1, "FsdpwizError: x", 1.0, finding=written)
    finding = of_failure(first_failure(attempt, plan_of()), 1)
    assert (finding.code, finding.rank, finding.message) == ("P010", 1, "Rank 1 \\x1b[2J")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"message": 3}', b'{"message": {"extraInfo": 1}}', b"\xff" * 50]
)
def test_garbage_in_an_error_file_is_survived(content, attempt):
    attempt.error(0).write_bytes(content)
    (attempt.folder / "error-x.json").write_text("{}")
    (attempt.folder / "error-7.json").symlink_to("/etc/passwd")
    os.mkfifo(attempt.error(2))
    failure = first_failure(attempt, plan_of())
    assert failure is None or failure.rank == 0


def test_control_characters_and_secrets_of_a_rank_are_not_shown(attempt):
    write(attempt, 0, "ValueError: \x1b]0;x\x07 hf_abcdefghijklmnopqrstuvwxyz", 1.0)
    finding = of_failure(first_failure(attempt, plan_of()), 1)
    shown = json.dumps(finding.to_json())
    assert "\x1b" not in shown and "\\u001b" not in shown and "hf_abcdefghij" not in shown


@pytest.mark.parametrize(
    ("number", "code"), [(28, "P003"), (122, "P003"), (13, "P004"), (30, "P004"), (20, "P004")]
)
def test_what_the_system_says_of_the_folder(number, code, tmp_path):
    finding = of_os_error(OSError(number, os.strerror(number), str(tmp_path)), tmp_path)
    assert finding.code == code and str(tmp_path) in finding.message and finding.key == "output_dir"


def test_a_killed_rank_that_torchelastic_observed_second(attempt):
    """Its root cause is then the rank that lost its peer."""
    summary = SUMMARY.format(code=1, rank=0, local_rank=0)
    other = """[1]:
  time      : 2026-12-01_04:11:53
  host      : node1
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 2268)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 2268
"""
    write(attempt, 0, PEER_GONE, 100.0)
    attempt.launcher_log(0).write_text(summary.replace("  <NO_OTHER_FAILURES>\n", other))
    failure = first_failure(attempt, plan_of())
    assert (failure.rank, failure.signal_name) == (1, "SIGKILL")
