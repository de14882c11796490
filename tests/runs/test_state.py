"""The state of a run, from what its processes left."""

import json
import os
import subprocess
import sys
import time

import pytest

from fsdpwiz.runs import records
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.state import SILENCE_LIMIT_S, last_attempt, read_state, start_record, write_status

HERE = start_record()
ELSEWHERE = {"event": "start", "host": "another-node", "pid": 1}
GONE = {**HERE, "process_started": HERE["process_started"] - 1000}
END = {"event": "end", "exit_code": 0}
FAILED = {"event": "end", "exit_code": 1}
MODEL = {"event": "exported", "model": "model"}

CASES = {
    "no attempt": ({}, "created"),
    "submitted": ({"submit": [{"event": "submitted", "job_id": "7"}]}, "queued"),
    "submitted, then started": ({"submit": [{"event": "submitted", "job_id": 7}], "0": [HERE]}, "running"),
    "started here": ({"0": [HERE]}, "running"),
    "process gone": ({"0": [GONE]}, "failed"),
    "pid of nobody": ({"0": [{**HERE, "pid": 2**40}]}, "failed"),
    "another host, no news": ({"0": [ELSEWHERE]}, "running"),
    "stopping": ({"0": [HERE, {"event": "stopping"}]}, "stopping"),
    "ended without a model": ({"0": [HERE, END]}, "failed"),
    "ended with a model": ({"0": [HERE, MODEL, END]}, "finished"),
    "model, but it failed after": ({"0": [HERE, MODEL, FAILED]}, "failed"),
    "failed": ({"0": [HERE, FAILED]}, "failed"),
    "cancelled": ({"0": [HERE, {"event": "stopping"}, {"event": "cancelled"}, FAILED]}, "cancelled"),
    "requeued": ({"0": [HERE, FAILED, {"event": "requeued"}]}, "requeued"),
    "one node failed": ({"0": [HERE, MODEL, END], "1": [HERE, FAILED]}, "failed"),
    "one node runs": ({"0": [HERE, MODEL, END], "1": [HERE]}, "running"),
    "both ended": ({"0": [HERE, MODEL, END], "1": [HERE, END]}, "finished"),
    "one cancelled": ({"0": [HERE], "1": [HERE, {"event": "cancelled"}]}, "cancelled"),
}


def fill(run, by_launcher, attempt=1):
    run.attempt(attempt).folder.mkdir(parents=True)
    for launcher, found in by_launcher.items():
        for record in found:
            records.append(run.attempt(attempt).launch(launcher), record)


@pytest.mark.parametrize("case", CASES)
def test_states(case, tmp_path):
    by_launcher, expected = CASES[case]
    run = RunFolder(tmp_path)
    if by_launcher:
        fill(run, by_launcher)
    assert read_state(run).state == expected


def test_latest_attempt_decides(tmp_path):
    run = RunFolder(tmp_path)
    for attempt in range(1, 11):
        fill(run, {"0": [HERE, FAILED]}, attempt)
    fill(run, {"0": [HERE]}, 11)
    (run.attempts / "notes").mkdir()
    (run.attempts / "12").write_text("a file")
    state = read_state(run)
    assert (state.attempt, state.state, last_attempt(run)) == (11, "running", 11)


def test_values(tmp_path):
    run = RunFolder(tmp_path)
    fill(run, {"0": [HERE, MODEL, {"event": "end", "exit_code": -9, "time": 50}]})
    records.append(run.attempt(1).events(0), {"event": "step", "step": 41, "time": 40})
    records.append(run.attempt(1).events(1), {"event": "step", "step": 42, "time": 41})
    state = read_state(run)
    assert (state.step, state.exit_code, state.model, state.pid) == (42, -9, "model", os.getpid())
    assert state.host == HERE["host"] and state.updated >= 50


def test_step_is_found_in_a_long_file(tmp_path):
    run = RunFolder(tmp_path)
    fill(run, {"0": [HERE]})
    path = run.attempt(1).events(0)
    path.write_text(
        "".join(json.dumps({"event": "step", "step": n, "time": n}) + "\n" for n in range(20_000))
    )
    began = time.perf_counter()
    assert read_state(run).step == 19_999
    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize(("quiet_s", "expected"), [(60, "running"), (SILENCE_LIMIT_S + 1, "failed")])
def test_a_launcher_elsewhere_is_judged_by_its_ranks_silence(quiet_s, expected, tmp_path):
    run = RunFolder(tmp_path)
    fill(run, {"0": [ELSEWHERE]})
    records.append(run.attempt(1).events(0), {"event": "heartbeat", "time": 1000.0})
    assert read_state(run, now=1000.0 + quiet_s).state == expected


def test_a_process_that_was_killed_is_seen(tmp_path):
    """SIGKILL lets nobody write an end record."""
    run = RunFolder(tmp_path)
    path = run.attempt(1).launch(0)
    path.parent.mkdir(parents=True)
    code = (
        "import time, pathlib, sys\n"
        "from fsdpwiz.runs import records, state\n"
        "records.append(pathlib.Path(sys.argv[1]), state.start_record())\n"
        "print('up', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    process.stdout.readline()
    assert read_state(run).state == "running"
    process.kill()
    process.wait()
    assert read_state(run).state == "failed"


def test_status_is_written_whole_and_private(tmp_path):
    run = RunFolder(tmp_path)
    fill(run, {"0": [HERE, MODEL, END]})
    assert write_status(run).state == "finished"
    document = json.loads(run.status.read_text())
    assert list(document) == [
        *("state", "attempt", "step", "job_id", "pid", "host", "exit_code", "model", "updated")
    ]
    assert run.status.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["attempts", "status.json"]


def test_garbage_in_records_is_survived(tmp_path):
    run = RunFolder(tmp_path)
    hostile = [
        {"event": ["x"]},
        {"event": "start", "pid": "x", "host": {}},
        {"event": "end", "exit_code": "1"},
    ]
    fill(run, {"0": [{"time": "NaN", **record} for record in hostile]})
    records.append(run.attempt(1).events(0), {"step": "many", "time": {}})
    assert read_state(run).state in ("failed", "running")
