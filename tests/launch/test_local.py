"""Launching with real processes: what is recorded, which failure is shown, and that nothing is left."""

import json
import os
import signal
import threading
import time

import psutil
import pytest

from fsdpwiz.exec.interrupts import Interrupts, noted
from fsdpwiz.launch import peers
from fsdpwiz.launch.node import Node
from fsdpwiz.runs import records
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.state import read_state, start_record
from tests.launch.runs import launched, plan_of, rank_pids


def events_of(run, node_rank=0, attempt=1):
    return [record["event"] for record in records.read(run.attempt(attempt).launch(node_rank))]


def running(pids):
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie"]


def test_a_good_run_is_finished_and_says_where_the_model_is(tmp_path):
    outcome, run = launched(tmp_path / "run", "good")
    assert (outcome.state, outcome.exit_code, outcome.model) == ("finished", 0, run.model)
    assert events_of(run) == ["start", "exported", "end"]
    assert (outcome.progress.step, outcome.progress.first_loss, outcome.progress.loss) == (3, 2.5, 1.5)
    status = json.loads(run.status.read_text())
    assert (status["state"], status["step"], status["model"], status["exit_code"]) == (
        "finished",
        3,
        "model",
        0,
    )
    assert run.attempt(1).folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("behaviour", ["no-model", "no-export"])
def test_a_run_without_a_verified_model_has_failed(behaviour, tmp_path):
    """A folder alone is not enough: rank 0 must have come to the end of its export."""
    outcome, run = launched(tmp_path / "run", behaviour)
    assert (outcome.state, outcome.exit_code) == ("failed", 0)
    assert outcome.finding.code == "P023" and str(run.model) in outcome.finding.message
    assert read_state(run).state == "failed"


def test_a_script_of_ones_own_needs_no_model(tmp_path):
    outcome, run = launched(tmp_path / "run", "no-model", "script=train.py")
    assert outcome.state == "finished" and outcome.model is None
    assert read_state(run).state == "finished"


def test_the_first_failing_rank_is_shown_not_who_lost_its_peer(tmp_path):
    outcome, run = launched(tmp_path / "run", "raise")
    assert (outcome.state, outcome.finding.code, outcome.finding.rank) == ("failed", "P020", 1)
    assert "ValueError: row 7 is bad" in outcome.finding.message
    assert "line 3, in step" in outcome.traceback
    assert json.loads(run.status.read_text())["state"] == "failed"


def test_a_killed_rank_is_named_with_its_signal(tmp_path):
    outcome, run = launched(tmp_path / "run", "kill")
    assert (outcome.finding.code, outcome.finding.rank, outcome.exit_code) == ("P021", 1, -9)
    assert "SIGKILL" in outcome.finding.message
    assert json.loads(run.status.read_text())["exit_code"] == -9
    assert running(rank_pids(run)) == [], "the rank that did not fail was left behind"


def test_a_launcher_that_fails_alone_is_quoted(tmp_path):
    outcome, _ = launched(tmp_path / "run", "crash")
    assert outcome.finding.code == "P022" and "port 29500" in outcome.finding.message


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_every_process(number, tmp_path):
    run = RunFolder(tmp_path / "run")

    def interrupt():
        while len(rank_pids(run)) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), number)

    with noted() as interrupts:
        threading.Thread(target=interrupt).start()
        outcome, _ = launched(tmp_path / "run", "hang", interrupts=interrupts)
    assert outcome.state == "cancelled" and not outcome.survivors
    assert running(rank_pids(run)) == []
    assert events_of(run) == ["start", "stopping", "cancelled", "end"]
    assert json.loads(run.status.read_text())["state"] == "cancelled"


def test_a_second_interrupt_ends_even_the_deaf_at_once(tmp_path):
    run = RunFolder(tmp_path / "run")

    def interrupt():
        while len(rank_pids(run)) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    with noted() as interrupts:
        threading.Thread(target=interrupt).start()
        began = time.monotonic()
        outcome, _ = launched(tmp_path / "run", "deaf", interrupts=interrupts)
    assert time.monotonic() - began < 5
    assert outcome.state == "cancelled" and running(rank_pids(run)) == []


class Broken:
    """A display that fails as soon as the ranks train."""

    def __init__(self, error):
        self.error = error

    def say(self, text):
        pass

    def show(self, progress):
        if progress.phase == "train" or progress.step:
            raise self.error

    def close(self):
        pass


def test_a_terminal_that_is_gone_does_not_end_the_run(tmp_path):
    outcome, _ = launched(tmp_path / "run", "good", display=Broken(OSError(5, "Input/output error")))
    assert outcome.state == "finished"


def test_a_fault_of_ours_leaves_no_process(tmp_path):
    with pytest.raises(ZeroDivisionError):
        launched(tmp_path / "run", "hang", display=Broken(ZeroDivisionError()))
    run = RunFolder(tmp_path / "run")
    assert running(rank_pids(run)) == []
    assert read_state(run).state == "failed"


def test_an_absent_program_is_recorded_as_an_end(tmp_path):
    from fsdpwiz.launch.display import Silence
    from fsdpwiz.launch.local import run_local

    run = RunFolder(tmp_path)
    with pytest.raises(FileNotFoundError):
        run_local(
            plan_of(),
            run,
            attempt=1,
            node=Node(),
            display=Silence(),
            interrupts=Interrupts(),
            command=["/no/such/launcher"],
        )
    assert events_of(run) == ["start", "end"]


def test_whatever_fails_after_the_start_is_recorded_as_an_end(tmp_path):
    """A variable that no environment can hold; a display that cannot be closed."""
    from fsdpwiz.launch.display import Silence
    from fsdpwiz.launch.local import run_local

    run = RunFolder(tmp_path)
    with pytest.raises(ValueError):
        run_local(
            plan_of(),
            run,
            attempt=1,
            node=Node(),
            display=Silence(),
            interrupts=Interrupts(),
            environ={"A": "a\0b"},
        )
    assert events_of(run) == ["start", "end"]
    assert read_state(run).state == json.loads(run.status.read_text())["state"] == "failed"


def test_a_display_that_cannot_be_closed_does_not_end_the_run(tmp_path):
    class Unclosable(Broken):
        def say(self, text):
            pass

        def show(self, progress):
            pass

        def close(self):
            raise self.error

    outcome, run = launched(tmp_path / "run", "good", display=Unclosable(OSError(5, "Input/output error")))
    assert outcome.state == "finished" and events_of(run)[-1] == "end"


def test_what_a_shell_left_over_does_not_reach_the_ranks(tmp_path, monkeypatch):
    monkeypatch.setenv("FSDP_OFFLOAD_PARAMS", "true")
    monkeypatch.setenv("RANK", "5")
    from fsdpwiz.launch.display import Silence
    from fsdpwiz.launch.local import run_local

    run = RunFolder(tmp_path)
    kwargs = {"node": Node(), "display": Silence(), "interrupts": Interrupts(), "command": ["/usr/bin/env"]}
    run_local(plan_of(), run, attempt=3, **kwargs)
    lines = run.attempt(3).launcher_log(0).read_text().splitlines()
    assert "FSDPWIZ_ATTEMPT=3" in lines and "ACCELERATE_USE_CPU=true" in lines
    assert not [line for line in lines if line.startswith(("FSDP_", "RANK="))]


TWO_NODES = ("cluster.nodes=2", "cluster.processes_per_node=1")


@pytest.mark.parametrize(("ending", "state"), [("cancelled", "cancelled"), ("end", "failed")])
def test_a_node_does_not_wait_for_one_that_is_gone(ending, state, tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "_LOOK_INTERVAL_S", 0.1)
    monkeypatch.setattr("fsdpwiz.launch.local.PEER_GRACE_S", 0.5)
    run = RunFolder(tmp_path / "run")
    run.attempt(1).folder.mkdir(parents=True)
    other = run.attempt(1).launch(0)
    records.append(other, start_record())

    def end():
        while len(rank_pids(run)) < 2:
            time.sleep(0.02)
        records.append(other, {"event": ending, "exit_code": 1})

    threading.Thread(target=end).start()
    node = Node(rank=1, address="127.0.0.1", port=29500)
    outcome, _ = launched(tmp_path / "run", "hang", *TWO_NODES, node=node)
    assert outcome.state == state
    assert running(rank_pids(run)) == []
    if state == "failed":
        assert outcome.finding.code == "P024" and "node 0" in outcome.finding.message


def test_the_second_node_leaves_the_model_to_node_0(tmp_path):
    node = Node(rank=1, address="127.0.0.1", port=29500)
    outcome, run = launched(tmp_path / "run", "no-model", *TWO_NODES, node=node)
    assert outcome.state == "finished"
    assert events_of(run, 1) == ["start", "end"] and not run.status.exists()
