"""Rank processes that stay: started once, fed one case after the other.

Importing the training libraries costs more than training a tiny model. So the processes of a
test session are started once, and each case is a plan that its ranks train with the real
`run`, in a real process group of its own. Between two cases a rank forgets what the first
one left: environment, accelerate's shared states, random numbers, process group.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.layout import RunFolder

CASE_LIMIT_S = 180.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What each rank reported: its error (None where it succeeded) and what it was asked to look at."""

    folder: RunFolder
    ranks: tuple[dict[str, Any], ...]

    @property
    def errors(self) -> list[str]:
        return [
            f"rank {rank}: {report['error']}" for rank, report in enumerate(self.ranks) if report["error"]
        ]

    def metrics(self) -> list[dict[str, Any]]:
        lines = self.folder.metrics.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def column(self, name: str, *, attempt: int = 1) -> list[float]:
        return [line[name] for line in self.metrics() if line["attempt"] == attempt]


class Ranks:
    """A pool of rank processes; a case of N ranks runs on the first N."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._processes: list[subprocess.Popen[str]] = []

    def train(self, plan: Plan, root: Path, *, attempt: int = 1, launched_as: Plan | None = None) -> Outcome:
        """Run the plan's case in the run folder `root`; raises TimeoutError where a rank hangs.

        `launched_as` is a plan whose environment the ranks get in place of their own's.
        """
        self._grow(plan.world.world_size)
        folder = RunFolder(root)
        root.mkdir(parents=True, exist_ok=True)
        folder.plan.write_text(json.dumps(plan.to_json()), encoding="utf-8")
        request = json.dumps(
            {
                "plan": str(folder.plan),
                "attempt": attempt,
                "port": free_port(),
                "launched_as": (launched_as or plan).to_json(),
            }
        )
        using = self._processes[: plan.world.world_size]
        for process in using:
            assert process.stdin is not None
            process.stdin.write(request + "\n")
            process.stdin.flush()
        deadline = time.monotonic() + CASE_LIMIT_S
        return Outcome(folder, tuple(self._answer(process, deadline) for process in using))

    def log(self, rank: int) -> str:
        """All that a rank's process has printed so far."""
        return (self._logs / f"server-{rank}.log").read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        self._processes = []

    def _grow(self, count: int) -> None:
        for rank in range(len(self._processes), count):
            log = (self._logs / f"server-{rank}.log").open("w")
            environment = {
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "RANK_SERVER_RANK": str(rank),
                "HF_HOME": str(self._logs / "hf"),
                "HF_HUB_OFFLINE": "1",
            }
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.train.rank_server"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=environment,
                )
            )

    def _answer(self, process: subprocess.Popen[str], deadline: float) -> dict[str, Any]:
        import select

        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], max(deadline - time.monotonic(), 0.1))
        line = process.stdout.readline() if ready else ""
        if not line:
            self.close()
            raise TimeoutError("a rank gave no answer: " + ("it ended" if ready else "it hangs"))
        return json.loads(line)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
