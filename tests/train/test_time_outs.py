"""The time-out of the process group: it ends what hangs, and nothing that only takes its time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.render.training_arguments import training_arguments
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.records import read
from tests.train.export.pool import Pool

pytestmark = pytest.mark.slow

TIMEOUT_S = 5
# The sandbox of chat templates ends at a range of 100,000.
SLOW = (
    "{% for message in messages %}{% for _ in range(25) %}{% for _ in range(99999) %}{% endfor %}{% endfor %}"
    "<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    ranks = Pool()
    yield ranks
    ranks.close()


def test_a_tokeniser_may_take_longer_than_the_time_out(bench: Any, tmp_path: Path) -> None:
    """Rank 0 tokenises while rank 1 waits in a collective: no hang, however long it takes."""
    template = tmp_path / "slow.jinja"
    template.write_text(SLOW)
    plan = bench.plan(
        rows="messages",
        kind="FSDP2",
        ranks=2,
        process_group_timeout_s=TIMEOUT_S,
        training={"chat_template_path": str(template)},
    )
    outcome = bench.train("slow-tokeniser", plan)
    events = [event for event in read(outcome.folder.attempt(1).events(0)) if event["phase"] == "data"]
    begun_s, ended_s = (
        max(event["time"] for event in events if event["event"] == kind) for kind in ("begin", "end")
    )
    assert ended_s - begun_s > TIMEOUT_S, "the tokeniser was too fast to tell anything"
    assert outcome.column("step") == [1, 2, 3]


@pytest.mark.parametrize(
    ("event", "phase", "steps"), [("step", "train", 2000), ("begin", "export", 2)], ids=["train", "export"]
)
def test_a_rank_that_hangs_is_ended_by_the_time_out(event: str, phase: str, steps: int, bench: Any) -> None:
    """Rank 1 stands still, as a rank on a machine that has lost its network does."""
    bench.once(bench.plan(kind="FSDP2", ranks=2))
    plan = bench.plan(
        kind="FSDP2",
        ranks=2,
        process_group_timeout_s=TIMEOUT_S,
        training={"max_steps": steps, "logging_steps": 10_000},
    )
    root = bench.root / f"hanging-{phase}"
    stopping = threading.Thread(target=_stop, args=(bench.ranks, RunFolder(root), event, phase))
    stopping.start()
    outcome = bench.ranks.train(plan, root)
    stopping.join()
    assert "imed out" in outcome.ranks[0]["error"], outcome.errors
    assert outcome.ranks[1]["error"] is not None
    assert not outcome.folder.model.exists()


def _stop(ranks: Any, run: RunFolder, event: str, phase: str) -> None:
    """Stop rank 1 at the event, and let it go on when rank 0 must have given up."""
    path, pid = run.attempt(1).events(1), ranks._processes[1].pid
    while not any(one["event"] == event and one["phase"] == phase for one in _events(path)):
        time.sleep(0.005)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(2 * TIMEOUT_S)
    os.kill(pid, signal.SIGCONT)


def _events(path: Path) -> list[dict[str, Any]]:
    return read(path) if path.exists() else []


def timeouts_of_groups() -> list[float]:
    """Of every group of a rank in a hybrid mesh."""
    from datetime import timedelta

    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.distributed_c10d import _world

    from fsdpwiz.train import process_group

    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp_replicate", "dp_shard"))
    process_group.set_timeout(7)
    backends = [group._get_backend(torch.device("cpu")) for group in _world.pg_map]
    return [backend.options._timeout.total_seconds() for backend in backends]


def test_groups_of_a_mesh_have_it_too(pool: Pool) -> None:
    """torch gives them its own default, whatever the default group has."""
    for timeouts in pool.run(timeouts_of_groups, 4):
        assert len(timeouts) >= 3 and set(timeouts) == {7.0}


def test_on_gpus_upstream_is_given_it(bench: Any) -> None:
    """There Accelerate makes the group with what TrainingArguments calls `ddp_timeout`."""
    assert training_arguments(bench.plan(process_group_timeout_s=77))["ddp_timeout"] == 77
