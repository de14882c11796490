"""Nodes that find each other through the run folder."""

import threading
import time

import pytest

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.exec.interrupts import Interrupts, noted
from fsdpwiz.launch.node import Node
from fsdpwiz.launch.peers import wait_for_start
from fsdpwiz.runs import records
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.state import start_record

SECOND = Node(rank=1, address="127.0.0.1", port=29500)


def begin(run, attempt, node_rank=0, *, ended=False):
    run.attempt(attempt).folder.mkdir(parents=True, exist_ok=True)
    records.append(run.attempt(attempt).launch(node_rank), start_record())
    if ended:
        records.append(run.attempt(attempt).launch(node_rank), {"event": "end", "exit_code": 1})


def wait(run, limit_s=5.0, notes=None):
    note = (notes if notes is not None else []).append
    return wait_for_start(run, SECOND, note=note, interrupts=Interrupts(), limit_s=limit_s)


def test_it_waits_until_node_0_begins(tmp_path):
    run = RunFolder(tmp_path / "x" / "20260101-000000")
    threading.Timer(0.3, begin, (run, 1)).start()
    began = time.monotonic()
    assert wait(run) == 1
    assert time.monotonic() - began >= 0.25


def test_a_resumed_run_is_joined_in_its_new_attempt(tmp_path):
    run = RunFolder(tmp_path)
    begin(run, 1, ended=True)
    begin(run, 1, node_rank=1, ended=True)
    threading.Timer(0.3, begin, (run, 2)).start()
    assert wait(run) == 2


def test_an_attempt_it_was_part_of_is_not_joined_again(tmp_path):
    """Node 0 was killed and wrote no end."""
    run = RunFolder(tmp_path)
    begin(run, 1)
    begin(run, 1, node_rank=1)
    with pytest.raises(FsdpwizError):
        wait(run, limit_s=0.2)


def test_waiting_is_bounded_and_says_for_what(tmp_path):
    with pytest.raises(FsdpwizError) as caught:
        wait(RunFolder(tmp_path / "nowhere"), limit_s=0.3)
    (finding,) = caught.value.findings
    assert finding.code == "P024" and "nowhere" in finding.message


def test_a_long_wait_is_announced_once(tmp_path, monkeypatch):
    monkeypatch.setattr("fsdpwiz.launch.peers._NOTE_AFTER_S", 0.1)
    notes = []
    with pytest.raises(FsdpwizError):
        wait(RunFolder(tmp_path / "nowhere"), limit_s=1.2, notes=notes)
    assert len(notes) == 1 and "waiting up to" in notes[0]


def test_an_interrupt_ends_the_wait(tmp_path):
    import os
    import signal

    with noted() as interrupts:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        waited = wait_for_start(
            RunFolder(tmp_path / "x"), SECOND, note=[].append, interrupts=interrupts, limit_s=20
        )
    assert waited is None
