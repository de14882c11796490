"""Phases, steps, heartbeats and peaks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fsdpwiz.runs.records import read
from fsdpwiz.train import memory
from fsdpwiz.train.events import Events

MB = 1_000_000


def test_phases_lie_within_each_other(tmp_path: Path) -> None:
    events = Events(tmp_path / "events.jsonl")
    with events.phase("train"):
        events.step(1)
        with events.phase("save"):
            pass
        events.step(2)
    events.mark("end")
    seen = [(record["event"], record["phase"], record["step"]) for record in read(tmp_path / "events.jsonl")]
    assert seen == [
        ("begin", "train", None),
        ("step", "train", 1),
        ("begin", "save", 1),
        ("end", "save", 1),
        ("step", "train", 2),
        ("end", "train", 2),
        ("begin", "end", 2),
        ("end", "end", 2),
    ]


def test_a_failed_phase_has_no_end(tmp_path: Path) -> None:
    events = Events(tmp_path / "events.jsonl")
    with pytest.raises(ValueError, match="broken"), events.phase("load"):
        raise ValueError("broken")
    assert [record["event"] for record in read(tmp_path / "events.jsonl")] == ["begin"]


def test_heartbeat_goes_on_during_a_phase(tmp_path: Path) -> None:
    events = Events(tmp_path / "events.jsonl", heartbeat_s=0.05)
    events.start()
    with events.phase("load"):
        time.sleep(0.5)
    events.stop()
    beats = [record for record in read(tmp_path / "events.jsonl") if record["event"] == "heartbeat"]
    assert 3 <= len(beats) <= 12
    assert {beat["phase"] for beat in beats} == {"load"}
    count = len(read(tmp_path / "events.jsonl"))
    time.sleep(0.2)
    assert len(read(tmp_path / "events.jsonl")) == count


def test_peak_of_a_phase_is_its_own(tmp_path: Path) -> None:
    events = Events(tmp_path / "events.jsonl")
    with events.phase("load"):
        assert len(bytearray(200 * MB)) == 200 * MB
    with events.phase("prepare"), events.phase("data"):
        pass
    with events.phase("train"), events.phase("save"):
        assert len(bytearray(100 * MB)) == 100 * MB
    peaks = {
        record["phase"]: record["rss_peak_bytes"] - record["rss_bytes"]
        for record in read(tmp_path / "events.jsonl")
        if record["event"] == "end"
    }
    assert peaks["load"] > 150 * MB
    assert peaks["prepare"] < 50 * MB
    assert peaks["data"] < 50 * MB
    assert peaks["save"] > 75 * MB
    assert peaks["train"] >= peaks["save"] - MB


def test_memory_is_that_of_this_process() -> None:
    before = memory.rss_bytes()
    held = bytearray(100 * MB)
    after = memory.rss_bytes()
    assert before is not None
    assert after is not None
    assert 90 * MB < after - before < 130 * MB
    assert len(held) == 100 * MB
    assert memory.gpu_bytes() == (None, None)


def test_training_says_how_many_steps_it_has(tmp_path: Path) -> None:
    events = Events(tmp_path / "events.jsonl")
    events.begin("train", total_steps=7)
    events.end("train")
    assert [record.get("total_steps") for record in read(tmp_path / "events.jsonl")] == [7, None]
