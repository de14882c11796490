"""The lines of metrics.jsonl."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fsdpwiz.runs.records import read
from fsdpwiz.train.metrics import Metrics, StepClock
from fsdpwiz.train.optimizer_timer import DeviceTimer


def metrics(tmp_path: Path, *, writes: bool = True) -> Metrics:
    return Metrics(tmp_path / "metrics.jsonl", attempt=2, writes=writes)


def test_a_line_per_step_with_what_is_known(tmp_path: Path) -> None:
    recorded = metrics(tmp_path)
    for step, logs in ((5, {}), (6, {"loss": 1.5, "grad_norm": 0.25, "epoch": 1})):
        recorded.learning_rate = 1e-3
        recorded.clock.end_step()
        recorded.note(logs)
        recorded.finish(step, 100 * step, again=False)
    first, second = read(tmp_path / "metrics.jsonl")
    assert (first["step"], first["loss"], first["attempt"], first["tokens"]) == (5, None, 2, 500)
    assert (second["loss"], second["grad_norm"], second["learning_rate"], second["tokens"]) == (
        1.5,
        0.25,
        1e-3,
        100,
    )
    assert set(first) == {
        *("time", "attempt", "step", "loss", "learning_rate", "grad_norm", "eval_loss"),
        *("tokens", "tokens_per_s", "step_s", "data_s", "optimizer_s", "save_stall_s"),
    }


def test_what_follows_an_epochs_end_belongs_to_its_last_step(tmp_path: Path) -> None:
    recorded = metrics(tmp_path)
    recorded.clock.end_step()
    recorded.note({"loss": 2.0})
    recorded.finish(3, 30, again=True)
    assert not (tmp_path / "metrics.jsonl").exists()
    recorded.note({"eval_loss": 1.0})
    recorded.clock.add_save_stall(0.5)
    recorded.finish(3, 30, again=True)
    recorded.finish(3, 30, again=True)
    (line,) = read(tmp_path / "metrics.jsonl")
    assert (line["loss"], line["eval_loss"], line["save_stall_s"]) == (2.0, 1.0, 0.5)


def test_only_rank_0_writes(tmp_path: Path) -> None:
    recorded = metrics(tmp_path, writes=False)
    recorded.clock.end_step()
    recorded.finish(1, 10, again=False)
    assert not (tmp_path / "metrics.jsonl").exists()


def test_a_step_is_timed_without_what_follows_it() -> None:
    clock = StepClock()
    source = clock.batches(iter(range(2)))
    time.sleep(0.05)
    assert list(source) == [0, 1]
    clock.end_step()
    time.sleep(0.2)
    clock.add_save_stall(0.2)
    record = clock.record(10)
    assert 0.05 <= record["step_s"] < 0.15
    assert record["data_s"] < 0.02
    assert record["save_stall_s"] == 0.2
    assert (
        record["tokens_per_s"] == round(10 / record["step_s"], 1)
        or abs(record["tokens_per_s"] - 10 / record["step_s"]) < 0.2
    )
    clock.restart()
    assert not clock.ended


def test_waiting_for_batches_is_data_time() -> None:
    def slow() -> object:
        for item in range(2):
            time.sleep(0.05)
            yield item

    clock = StepClock()
    assert list(clock.batches(slow())) == [0, 1]
    clock.end_step()
    assert 0.1 <= clock.record(None)["data_s"] < 0.2
    assert clock.record(None)["tokens_per_s"] is None


def test_a_stall_within_a_step_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("fsdpwiz.train.metrics.time.perf_counter", lambda: now[0])
    clock = StepClock()
    now[0] += 5.0
    clock.add_stall_within_step(2.0)
    clock.end_step()
    clock.add_save_stall(0.5)
    assert clock.record(30) == {
        "tokens_per_s": 10.0,
        "step_s": 3.0,
        "data_s": 0.0,
        "optimizer_s": None,
        "save_stall_s": 2.5,
    }
    clock.restart()
    now[0] += 1.0
    clock.end_step()
    assert clock.record(None)["step_s"] == 1.0


def test_the_optimizers_part_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what a save kept it waiting, which comes between its begin and its first change."""
    now = [100.0]
    monkeypatch.setattr("fsdpwiz.train.metrics.time.perf_counter", lambda: now[0])
    clock = StepClock()
    now[0] += 3.0
    clock.begin_optimizer()
    now[0] += 2.0
    clock.add_stall_within_step(2.0)
    now[0] += 0.25
    clock.end_optimizer()
    clock.end_step()
    record = clock.record(None)
    assert (record["step_s"], record["optimizer_s"], record["save_stall_s"]) == (3.25, 0.25, 2.0)
    clock.restart()
    clock.end_step()
    assert clock.record(None)["optimizer_s"] is None


class Event:
    """A CUDA event whose time is the order in which it was recorded."""

    recorded = 0
    finished = 0

    def record(self) -> None:
        Event.recorded += 1
        self.number = Event.recorded

    def query(self) -> bool:
        return self.number <= Event.finished

    def elapsed_time(self, end: Event) -> float:
        return (end.number - self.number) * 1e3


def test_nobody_waits_for_a_gpu_to_know_its_optimizer(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = DeviceTimer()
    monkeypatch.setattr(DeviceTimer, "_event", staticmethod(_recorded))
    timer.begin()
    timer.end()
    assert timer.take() is None
    Event.finished = 2
    timer.begin()
    timer.begin()
    timer.end()
    assert timer.take() == 1.0
    assert timer.take() is None
    Event.finished = Event.recorded
    assert timer.take() == 1.0


def _recorded() -> Event:
    event = Event()
    event.record()
    return event
