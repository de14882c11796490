"""Whole launches: `accelerate launch` starts the ranks of a run folder, as a user's would be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.accelerate_yaml import accelerate_yaml
from fsdpwiz.render.environment import launch_environment
from fsdpwiz.render.launch_command import launch_command
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.records import read

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]


def command(plan: Plan, folder: RunFolder) -> list[str]:
    folder.root.mkdir(parents=True, exist_ok=True)
    folder.plan.write_text(json.dumps(plan.to_json()))
    folder.accelerate.write_text(accelerate_yaml(plan))
    return launch_command(
        plan, plan_path=folder.plan, accelerate_path=folder.accelerate, python=sys.executable
    )


@contextmanager
def launched(plan: Plan, words: list[str], attempt: int = 1) -> Iterator[subprocess.Popen[str]]:
    environment = launch_environment(plan, os.environ) | {
        "FSDPWIZ_ATTEMPT": str(attempt),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(REPOSITORY),
        "HF_HUB_OFFLINE": "1",
    }
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    ranks: list[psutil.Process] = []
    try:
        yield process
        ranks = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for rank in ranks:
            if rank.is_running():
                rank.kill()


def run_through(plan: Plan, words: list[str], attempt: int = 1) -> int:
    with launched(plan, words, attempt) as process:
        process.communicate(timeout=150)
        return process.returncode


def error(folder: RunFolder, rank: int, attempt: int = 1) -> dict[str, Any]:
    return json.loads(folder.attempt(attempt).error(rank).read_text())


def wait_for_step(folder: RunFolder, step: int, attempt: int = 1) -> None:
    deadline = time.monotonic() + 120
    while not any(event.get("step") == step for event in read(folder.attempt(attempt).events(0))):
        assert time.monotonic() < deadline, "no step in time"
        time.sleep(0.1)


def test_ranks_that_train_alone_stop_before_the_first_step(bench: Any) -> None:
    plan = bench.plan(kind="FSDP2", ranks=2)
    folder = RunFolder(bench.root / "launched-alone")
    words = command(plan, folder)
    at = words.index("-m", words.index("accelerate.commands.launch"))
    words[at : at + 2] = [str(HERE / "scripts" / "without_cpu_fsdp.py")]
    environment_without = {"ACCELERATE_USE_CPU": "false"}
    assert run_through(plan.model_copy(update={"env": environment_without}), words) != 0
    assert not folder.metrics.exists()
    assert not folder.model.exists()
    finding = error(folder, 0)["finding"]
    assert finding["code"] == "P010"
    assert "processes known to Accelerate: planned 2, found 1" in finding["message"]
    assert "distributed type: planned FSDP2, found NO" in finding["message"]
    assert not any(event["event"] == "step" for event in read(folder.attempt(1).events(0)))


def test_killed_and_resumed(bench: Any) -> None:
    saving = {"max_steps": 24, "save_strategy": "steps", "save_steps": 8, "save_total_limit": 3}
    plan = bench.plan(kind="FSDP2", ranks=2, training=saving)
    folder = RunFolder(bench.root / "launched-killed")
    words = command(plan, folder)
    with launched(plan, words) as process:
        wait_for_step(folder, 10)
        ranks = [p for p in psutil.Process(process.pid).children() if "fsdpwiz.train" in p.cmdline()]
        assert len(ranks) == 2
        ranks[1].send_signal(signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
        assert process.returncode != 0
        assert all(not p.is_running() or p.status() == psutil.STATUS_ZOMBIE for p in ranks)
    assert "'loss'" not in output, "a rank printed past its log"
    assert "'loss'" in folder.attempt(1).rank_log(0).read_text()
    (folder.checkpoints / "checkpoint-16").mkdir(exist_ok=True)
    assert run_through(plan, words, attempt=2) == 0
    whole = bench.once(plan)
    resumed = [line for line in read(folder.metrics) if line["attempt"] == 2]
    first = resumed[0]["step"]
    assert first > 8
    assert first % 8 == 1
    assert [line["loss"] for line in resumed] == pytest.approx(whole.column("loss")[first - 1 :], abs=2e-6)
    assert {path.name for path in folder.checkpoints.iterdir()} == {"step-8", "step-16", "step-24"}
    assert (folder.model / "model.safetensors").is_file()


def test_ranks_die_with_their_launcher(bench: Any) -> None:
    plan = bench.plan(kind="FSDP2", ranks=2, training={"max_steps": 100_000})
    folder = RunFolder(bench.root / "launched-orphans")
    with launched(plan, command(plan, folder)) as process:
        wait_for_step(folder, 2)
        ranks = psutil.Process(process.pid).children()
        assert len(ranks) >= 2
        process.kill()
        _, alive = psutil.wait_procs(ranks, timeout=10)
        assert alive == []


def test_two_launchers_of_one_rank_each(bench: Any) -> None:
    """Two nodes on one machine: each has a launcher of its own and knows the first one's address."""
    from tests.train.ranks import free_port

    plan = bench.plan(kind="FSDP2", ranks=2)
    world = plan.world.model_copy(update={"nodes": 2, "ranks_per_node": 1})
    plan = plan.model_copy(update={"world": world})
    folder, port = RunFolder(bench.root / "launched-nodes"), free_port()
    command(plan.model_copy(update={"world": world.model_copy(update={"nodes": 1})}), folder)
    folder.plan.write_text(json.dumps(plan.to_json()))
    folder.accelerate.write_text(accelerate_yaml(plan))
    node = {"plan_path": folder.plan, "accelerate_path": folder.accelerate, "python": sys.executable}
    words = [
        launch_command(plan, **node, node_rank=rank, main_address="127.0.0.1", port=port) for rank in (0, 1)
    ]
    with launched(plan, words[0]) as first, launched(plan, words[1]) as second:
        first.communicate(timeout=150)
        second.communicate(timeout=60)
        assert (first.returncode, second.returncode) == (0, 0)
    alone = bench.once(bench.plan())
    assert [line["loss"] for line in read(folder.metrics)] == pytest.approx(alone.column("loss"), abs=1e-5)


@pytest.mark.parametrize("failing", [-1, 1])
def test_a_script_of_ones_own(failing: int, bench: Any) -> None:
    script = HERE / "scripts" / "own_training.py"
    rows = bench.rows["prompt-completion"]
    arguments = ["--model", str(bench.model), "--data", str(rows), "--fail-on-rank", str(failing)]
    plan = bench.plan(kind="FSDP2", ranks=2, script=str(script), script_args=arguments)
    folder = RunFolder(bench.root / f"launched-script-{failing}")
    code = run_through(plan, command(plan, folder))
    events = [(event["event"], event["phase"]) for event in read(folder.attempt(1).events(0))]
    assert ("begin", "train") in events
    if failing < 0:
        assert code == 0
        losses = [round(loss, 3) for loss in bench.once(bench.plan()).column("loss")[:2]]
        assert f"losses {losses}" in folder.attempt(1).rank_log(0).read_text()
        assert ("end", "end") in events
    else:
        assert code != 0
        message = error(folder, 1)["message"]
        assert message["message"] == "ValueError: the user's own mistake"
        assert "own_training.py" in message["extraInfo"]["py_callstack"]
