"""Progress from the files that ranks write, and how it is shown."""

import io
import math
import time

import pytest

from fsdpwiz.launch.display import Bar, Lines, facts
from fsdpwiz.launch.follow import Follower, Progress, planned_steps
from fsdpwiz.runs import records
from fsdpwiz.runs.layout import RunFolder
from tests.launch.runs import plan_of


@pytest.fixture
def run(tmp_path):
    run = RunFolder(tmp_path)
    run.attempt(1).folder.mkdir(parents=True)
    return run


def event(run, rank, kind, phase, **more):
    records.append(run.attempt(1).events(rank), {"event": kind, "phase": phase, **more})


def step(run, number, loss, attempt=1, **more):
    records.append(run.metrics, {"attempt": attempt, "step": number, "loss": loss, **more})


def test_nothing_is_known_before_the_ranks_report(run):
    progress = Follower(run, 1, plan_of()).look()
    assert (progress.phase, progress.step, progress.total_steps) == (None, None, 3)


def test_an_evaluation_or_a_save_shows_within_training(run):
    follower = Follower(run, 1, plan_of())
    seen = []
    for kind, phase in [
        ("begin", "start"),
        ("end", "start"),
        ("begin", "train"),
        ("begin", "save"),
        ("end", "save"),
    ]:
        event(run, 0, kind, phase)
        seen.append(follower.look().phase)
    assert seen == ["start", None, "train", "save", "train"]


def test_the_way_to_training_never_goes_back(run):
    """Data is read before the model is loaded, and again within its wrapping; other ranks lag behind."""
    follower = Follower(run, 1, plan_of())
    seen = []
    for rank, kind, phase in [
        (1, "begin", "start"),
        (0, "begin", "start"),
        (0, "end", "start"),
        (0, "begin", "data"),
        (0, "end", "data"),
        (0, "begin", "load"),
        (0, "end", "load"),
        (0, "begin", "prepare"),
        (0, "begin", "data"),
        (0, "end", "data"),
        (0, "end", "prepare"),
        (0, "begin", "train"),
        (0, "begin", "evaluate"),
        (0, "begin", "data"),
        (0, "end", "evaluate"),
    ]:
        event(run, rank, kind, phase)
        phase = follower.look().phase
        if phase != (seen or [None])[-1]:
            seen.append(phase)
    assert seen == ["start", "data", "load", "prepare", "train", "evaluate", "train"]


def test_an_end_closes_what_was_left_open_within(run):
    follower = Follower(run, 1, plan_of())
    for kind, phase in [("begin", "prepare"), ("begin", "data"), ("end", "prepare")]:
        event(run, 0, kind, phase)
    assert follower.look().phase is None


def test_numbers(run):
    follower = Follower(run, 1, plan_of())
    event(run, 0, "step", "train", step=3, rss_peak_bytes=5, gpu_peak_bytes=None)
    event(run, 1, "heartbeat", "train", rss_peak_bytes=9)
    step(run, 1, 3.0, tokens_per_s=100.0, step_s=2.0)
    step(run, 2, 2.0, tokens_per_s=300.0, step_s=4.0)
    progress = follower.look()
    assert (progress.step, progress.first_loss, progress.loss) == (2, 3.0, 2.0)
    assert (progress.tokens_per_s, progress.step_s, progress.seconds_left) == (200.0, 3.0, 3.0)
    assert (progress.memory_bytes, progress.on_gpu) == (9, False)


def test_gpu_memory_is_shown_where_there_is_one(run):
    follower = Follower(run, 1, plan_of())
    event(run, 0, "step", "train", step=1, rss_peak_bytes=50, gpu_peak_bytes=7)
    progress = follower.look()
    assert (progress.memory_bytes, progress.on_gpu) == (7, True)


def test_a_resumed_attempt_keeps_the_first_loss_and_not_the_old_speed(run):
    step(run, 1, 3.0, attempt=1, step_s=100.0)
    step(run, 2, 2.5, attempt=1, step_s=100.0)
    step(run, 2, 2.4, attempt=2, step_s=1.0)
    progress = Follower(run, 2, plan_of()).look()
    assert (progress.first_loss, progress.loss, progress.step_s, progress.first_step) == (3.0, 2.4, 1.0, 2)


def test_steps_by_epochs_are_told_by_the_trainer(run):
    plan = plan_of("sft.max_steps=-1")
    assert planned_steps(plan) is None
    follower = Follower(run, 1, plan)
    event(run, 0, "begin", "train", total_steps=120)
    assert follower.look().total_steps == 120


def test_only_the_end_of_rank_0s_export_counts(run):
    follower = Follower(run, 1, plan_of())
    event(run, 1, "begin", "export")
    event(run, 1, "end", "export")
    event(run, 0, "begin", "export")
    assert not follower.look().exported
    event(run, 0, "end", "export")
    assert follower.look().exported


def test_hostile_records_are_survived(run):
    follower = Follower(run, 1, plan_of())
    for record in [{"phase": {}}, {"event": "end", "phase": "x"}, {"step": -3}, {"rss_peak_bytes": "many"}]:
        records.append(run.attempt(1).events(0), {"event": "begin", **record})
    for record in [
        {"step": "x"},
        {"step": 1, "loss": {}},
        {"step": True},
        {"step": 2, "attempt": 1, "step_s": -1},
    ]:
        records.append(run.metrics, record)
    for _ in range(1000):
        event(run, 0, "begin", "train")
    assert follower.look().loss is None


def test_a_loss_that_is_no_number_is_shown(run):
    step(run, 1, math.nan)
    assert "loss nan" in facts(Follower(run, 1, plan_of()).look())


def test_lines_are_few_and_the_last_step_is_among_them():
    lines = []
    display = Lines(lines.append, interval_s=3600)
    for phase in (None, "start", "start", "load"):
        display.show(Progress(phase=phase))
    for number in range(1, 51):
        display.show(Progress(phase="train", step=number, total_steps=50, loss=2.0, step_s=1.5))
        if number == 20:
            display.show(Progress(phase="save", step=number, total_steps=50))
    display.show(Progress(phase="export", step=50, total_steps=50))
    assert lines == [
        *("starting the ranks", "loading the model", "training"),
        "step 1/50, loss 2, 1 min 14 s left",
        "saving a checkpoint",
        "step 50/50, loss 2, 0 s left",
        "exporting and verifying the model",
    ]


def test_lines_come_by_the_clock():
    lines = []
    display = Lines(lines.append, interval_s=0.05)
    for number in range(1, 6):
        display.show(Progress(step=number))
        time.sleep(0.06)
    assert [line.split(",")[0] for line in lines] == [f"step {number}" for number in range(1, 6)]


def test_bar_shows_the_numbers_and_obeys_no_markup():
    stream = io.StringIO()
    bar = Bar(stream, colour=False)
    bar.show(Progress(phase="[bold]x\x1b[2J"))
    bar.show(
        Progress(
            phase="train", step=7, total_steps=20, loss=1.25, tokens_per_s=1234.5, memory_bytes=2 * 10**9
        )
    )
    bar.close()
    shown = stream.getvalue()
    assert "step 7/20" in shown and "loss 1.25" in shown and "1,23" in shown and "2 GB" in shown
    assert "[bold]x\\x1b[2J" in shown


def test_where_the_time_goes_without_the_first_step(run):
    follower = Follower(run, 1, plan_of())
    parts = {"tokens": 100, "step_s": 2.0, "data_s": 0.5, "optimizer_s": 0.25, "save_stall_s": 0.125}
    step(run, 3, 1.0, **{**parts, "step_s": 50.0, "optimizer_s": None})
    assert follower.look().breakdown.step_s == 50.0
    for number in (4, 5):
        step(run, number, 1.0, **parts)
    found = follower.look().breakdown
    assert (found.steps, found.tokens, found.tokens_per_s, found.tokens_per_step) == (2, 200, 50.0, 100.0)
    assert (found.step_s, found.data_s, found.optimizer_s) == (4.0, 1.0, 0.5)
    assert found.save_stall_s == 0.375


def test_lines_that_say_nothing_of_time(run):
    follower = Follower(run, 1, plan_of())
    step(run, 1, 1.0, attempt=0, step_s=5.0)
    assert follower.look().breakdown is None
    step(run, 1, 1.0, step_s="long", tokens=-3, data_s=-1.0)
    found = follower.look().breakdown
    assert (found.step_s, found.data_s, found.tokens_per_s, found.tokens_per_step) == (0.0, 0.0, None, None)
