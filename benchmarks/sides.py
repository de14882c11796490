"""The two sides of the memory and checkpoint benchmarks: their input, how each is started and followed."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from llama import made
from sampler import Samples, sampled
from throughput import BIN, RECIPE, handed, render
from throughput import WORK as CACHE

HERE = Path(__file__).resolve().parent
WORK = CACHE / "sides"
ROWS = 400
TIMEOUT_S = 3600
TICK_S = 0.1
ACCELERATE = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0", "--config_file"]


@dataclass(frozen=True, slots=True)
class Followed:
    """A side that has ended: when it was started, in unix seconds, and what its ranks held."""

    began: float
    samples: Samples


@dataclass(frozen=True, slots=True)
class Bar:
    """A measured value that must not be above its limit."""

    name: str
    value: float
    limit: float

    @property
    def held(self) -> bool:
        return self.value <= self.limit

    def row(self) -> str:
        return f"| {self.name} | {self.value:.3f} | {self.limit:.3f} | {'held' if self.held else 'MISSED'} |"


def bar_table(bars: Sequence[Bar]) -> str:
    """The bars as a table."""
    return "\n".join(["| bar | measured | at most | |", "| --- " * 4 + "|", *(bar.row() for bar in bars)])


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median, and lowest to highest in brackets."""
    shown = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return "{} ({} to {})".format(*shown)


def overrides(parameters: float, ranks: int, *further: str) -> list[str]:
    """What both sides train, as overrides of the demo's recipe: short rows, one at a time, on a CPU."""
    return [
        f"model.name_or_path={made(parameters, CACHE)}",
        f"data.name_or_path={_rows()}",
        "data.eval_name_or_path=null",
        f"output_dir={WORK / 'runs'}",
        "cluster.device=cpu",
        f"cluster.processes_per_node={ranks}",
        "sft.eval_strategy=no",
        "sft.eval_steps=null",
        "sft.logging_strategy=no",
        "sft.max_length=32",
        "sft.per_device_train_batch_size=1",
        *further,
    ]


def _rows() -> Path:
    """Texts of two tokens: it is not the step that is measured, and without AVX-512 bf16 takes minutes."""
    path = CACHE / "short.jsonl"
    if not path.exists():
        path.write_text('{"text": "Row"}\n' * ROWS, encoding="utf-8")
    return path


def run_ours(changes: Sequence[str], *, enough: Callable[[Path], bool]) -> tuple[Followed, Path]:
    """A `fsdpwiz run` that is interrupted once `enough` says so of its folder."""
    WORK.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(WORK / "runs", ignore_errors=True)
    command = [str(BIN / "fsdpwiz"), "run", str(RECIPE), *changes, "--quiet"]

    def done() -> bool:
        return any(enough(plan.parent) for plan in (WORK / "runs").glob("*/*/plan.json"))

    followed = follow(command, log=WORK / "ours.log", done=done)
    return followed, next((WORK / "runs").glob("*/*/plan.json")).parent


def start_marked(changes: Sequence[str], settings: dict[str, Any]) -> tuple[Followed, Path]:
    """Our own ranks with marks, under `accelerate launch` with all that fsdpwiz sets for them."""
    rendered, folder = render(list(changes)), _empty(WORK / "marked")
    for name in ("accelerate.yaml", "plan.json"):
        (folder / name).write_text(rendered["files"][name], encoding="utf-8")
    words = [str(HERE / "marked_train.py"), str(_settings(folder, settings)), str(folder / "plan.json")]
    environment = {item["name"]: item["value"] for item in rendered["effective"]["environment"]}
    command = [*ACCELERATE, str(folder / "accelerate.yaml"), *words]
    return follow(command, log=folder / "log.txt", environment=environment), folder


def start_stock(changes: Sequence[str], settings: dict[str, Any]) -> tuple[Followed, Path]:
    """The stock script, in the environment of whoever starts it by hand with the threads of a rank."""
    rendered, folder = render(list(changes)), _empty(WORK / "stock")
    (folder / "accelerate.yaml").write_text(rendered["files"]["accelerate.yaml"], encoding="utf-8")
    plan = json.loads(rendered["files"]["plan.json"])
    arguments = {item["name"]: item["value"] for item in rendered["effective"]["training_arguments"]}
    further = {
        "model": plan["model"]["name_or_path"],
        "data": plan["data"]["name_or_path"],
        "output": str(folder / "output"),
        "arguments": arguments,
    }
    words = [str(HERE / "stock_marked.py"), str(_settings(folder, {**settings, **further}))]
    command = [*ACCELERATE, str(folder / "accelerate.yaml"), *words]
    environment = handed(rendered, everything=False)
    return follow(command, log=folder / "log.txt", environment=environment), folder


def follow(
    command: Sequence[str],
    *,
    log: Path,
    environment: dict[str, str] | None = None,
    done: Callable[[], bool] = lambda: False,
) -> Followed:
    """Start a side and sample its ranks until it ends, or is done and interrupted."""
    began, done_already = time.time(), False
    with log.open("w", encoding="utf-8") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **(environment or {})})
        tree = psutil.Process(child.pid)
        try:
            with sampled(child.pid) as samples:
                while child.poll() is None and time.time() < began + TIMEOUT_S:
                    if not done_already and done():
                        done_already = True
                        child.send_signal(2)
                    time.sleep(TICK_S)
        finally:
            _end(child, tree)
    if child.returncode and not done_already:
        tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise SystemExit(
            f"{' '.join(command[:4])} … ended with {child.returncode}; its log {log} ends:\n{tail}"
        )
    return Followed(began, samples)


def _end(child: subprocess.Popen[bytes], tree: psutil.Process) -> None:
    if child.poll() is None:
        for process in [*tree.children(recursive=True), tree]:
            process.kill()
    child.wait()


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _settings(folder: Path, settings: dict[str, Any]) -> Path:
    path = folder / "settings.json"
    path.write_text(json.dumps({"marks": str(folder), **settings}), encoding="utf-8")
    return path
