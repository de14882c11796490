"""Runs that are killed at random moments and resumed end as if nothing had happened.

    python benchmarks/kill_matrix.py [--moments N] [--seed N] [--write]

Each moment: a `fsdpwiz run` on two CPU processes is waited for until a phase begins (load, prepare, a step, a
save, export), then after a random fraction of a second one process gets SIGKILL: a rank, the launcher or the
command itself. No process may be left; `fsdpwiz run --resume` must finish, every step's loss must be the
undisturbed run's, and the model the very same bytes. Done moments are kept in .cache/kill-matrix and not
repeated. Exits 1 where one fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
WORK = ROOT / ".cache" / "kill-matrix"
STEPS = 12
LIMIT_S = 180
LEFT_LIMIT_S = 20
LOSS_TOLERANCE = 1e-6
PHASES = ("load", "prepare", "step", "save", "rotate", "export")
TARGETS = ("rank 0", "rank 1", "launcher", "command")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When and whom: `delay_s` after `phase` has begun; `step` counts for the phases that have one."""

    number: int
    phase: str
    step: int
    target: str
    delay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one moment; `fault` is empty where all was as it should be."""

    moment: Moment
    fault: str
    resumed_from: int | None
    missed: bool

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The undisturbed run: loss of each step, and a digest of the model's files."""

    losses: dict[int, float]
    model: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="add the table to benchmarks/results")
    options = parser.parse_args()
    case = Case(WORK / f"seed-{options.seed}")
    outcomes = [case.tried(moment) for moment in moments(options.seed, options.moments)]
    table = tabulate(outcomes, options.seed)
    print(table)
    if options.write:
        from record import write_result

        write_result("kill-matrix", table)
    return 1 if any(outcome.fault for outcome in outcomes) else 0


def moments(seed: int, count: int) -> Iterator[Moment]:
    """The first `count` moments of a seed; every phase and every target comes up in turn."""
    choice = random.Random(seed)
    for number in range(count):
        phase = PHASES[number % len(PHASES)]
        yield Moment(
            number=number,
            phase=phase,
            step=choice.randrange(6, STEPS) if phase == "rotate" else choice.randrange(1, STEPS),
            target=TARGETS[(number + number // len(PHASES)) % len(TARGETS)],
            delay_s=round(choice.uniform(0.0, 0.4 if phase != "load" else 2.0), 3),
        )


class Case:
    """One model and recipe in a folder, its undisturbed run, and the moments tried so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._done = folder / "outcomes.jsonl"
        self.recipe = self._written_recipe()
        self.truth = self._undisturbed()

    def tried(self, moment: Moment) -> Outcome:
        """The outcome of a moment, from the record where it was tried before."""
        outcome = self._recorded().get(moment.number) or self._try(moment)
        print(
            f"{moment.number:3d} {moment.phase:<8} {moment.target:<9} +{moment.delay_s:.3f} s: "
            + (outcome.fault or f"resumed from {outcome.resumed_from}, the same"),
            flush=True,
        )
        return outcome

    def _recorded(self) -> dict[int, Outcome]:
        found = {}
        for line in self._done.read_text().splitlines() if self._done.exists() else ():
            values = json.loads(line)
            moment = Moment(**values.pop("moment"))
            found[moment.number] = Outcome(moment=moment, **values)
        return found

    def _try(self, moment: Moment) -> Outcome:
        runs = self.folder / f"runs-{moment.number}"
        shutil.rmtree(runs, ignore_errors=True)
        command = started(self.recipe, runs)
        missed = not strike(command, runs, moment)
        command.wait(LIMIT_S)
        fault = left_over(runs) or ""
        run = the_run(runs)
        resumed_from = None
        if not fault and run is None:
            fault = "a second start failed" if started(self.recipe, runs).wait(LIMIT_S) else ""
            run = the_run(runs)
        elif not fault and run is not None and not finished(run):
            fault = resumed(run)
            resumed_from = first_step(run)
        outcome = Outcome(
            moment=moment,
            fault=fault or difference(self.truth, run),
            resumed_from=resumed_from,
            missed=missed,
        )
        with self._done.open("a") as stream:
            stream.write(json.dumps(outcome.to_json()) + "\n")
        if not outcome.fault:
            shutil.rmtree(runs, ignore_errors=True)
        return outcome

    def _undisturbed(self) -> Truth:
        runs = self.folder / "undisturbed"
        if (run := the_run(runs)) is None or not finished(run):
            shutil.rmtree(runs, ignore_errors=True)
            code = started(self.recipe, runs).wait(LIMIT_S)
            run = the_run(runs)
            if code or run is None:
                raise SystemExit(f"the undisturbed run failed with {code}: see {runs}")
        return Truth(losses=losses(run), model=digest(run / "model"))

    def _written_recipe(self) -> Path:
        sys.path.insert(0, str(ROOT))
        from tests.train.tiny import write_model, write_rows

        model = self.folder / "model"
        if not (model / "config.json").exists():
            write_model(model)
        rows = write_rows(self.folder)["prompt-completion"]
        recipe = self.folder / "killed.yaml"
        recipe.write_text(
            json.dumps(
                {
                    "name": "killed",
                    "model": {"name_or_path": str(model)},
                    "data": {"name_or_path": str(rows)},
                    "sft": {
                        "max_length": 96,
                        "per_device_train_batch_size": 2,
                        "learning_rate": 1e-3,
                        "max_steps": STEPS,
                        "logging_steps": 1,
                        "save_strategy": "steps",
                        "save_steps": 2,
                        "save_total_limit": 2,
                    },
                    "cluster": {"device": "cpu", "nodes": 1, "processes_per_node": 2},
                }
            )
        )
        return recipe


def started(recipe: Path, runs: Path) -> subprocess.Popen[bytes]:
    """A `fsdpwiz run` into `runs`, its output beside them."""
    runs.parent.mkdir(parents=True, exist_ok=True)
    with (runs.parent / f"{runs.name}.log").open("ab") as log:
        return subprocess.Popen(
            [str(BIN / "fsdpwiz"), "run", str(recipe), f"output_dir={runs}"],
            stdout=log,
            stderr=log,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )


def resumed(run: Path) -> str:
    """Resume a run; what went wrong, empty where it finished."""
    log = run.parent.parent.parent / f"{run.parent.parent.name}.log"
    with log.open("ab") as stream:
        code = subprocess.run(
            [str(BIN / "fsdpwiz"), "run", "--resume", str(run)],
            stdout=stream,
            stderr=stream,
            timeout=LIMIT_S,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            check=False,
        ).returncode
    return "" if code == 0 else f"--resume exited with {code}, see {log}"


def strike(command: subprocess.Popen[bytes], runs: Path, moment: Moment) -> bool:
    """Kill the moment's target when its phase has begun; False where the run ended before."""
    deadline = time.monotonic() + LIMIT_S
    while not begun(runs, moment):
        if command.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    time.sleep(moment.delay_s)
    victim = target(command.pid, moment.target)
    if victim is None:
        return False
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def begun(runs: Path, moment: Moment) -> bool:
    """Whether the moment's phase has begun on rank 0."""
    run = the_run(runs)
    if run is None:
        return False
    wanted = {"rotate": "step"}.get(moment.phase, moment.phase)
    for record in records(run / "attempts" / "1" / "events-0.jsonl"):
        if wanted == "step" and record["event"] == "step" and record["step"] >= moment.step:
            return True
        at_step = (record["step"] or 0) >= moment.step if wanted == "save" else True
        if record["event"] == "begin" and record["phase"] == wanted and at_step:
            return True
    return False


def target(pid: int, name: str) -> int | None:
    """The process of that name below the command, None where it is gone."""
    if name == "command":
        return pid
    try:
        below = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return None
    ranks = {rank: process.pid for process in below if (rank := rank_of(process)) is not None}
    if name.startswith("rank "):
        return ranks.get(int(name.removeprefix("rank ")))
    return next((process.pid for process in below if process.pid not in ranks.values()), None)


def rank_of(process: psutil.Process) -> int | None:
    try:
        return int(process.environ()["RANK"])
    except (psutil.Error, KeyError, ValueError):
        return None


def left_over(runs: Path) -> str | None:
    """What is still running of a run whose command has ended."""
    deadline = time.monotonic() + LEFT_LIMIT_S
    while alive := [process.pid for process in psutil.process_iter() if mentions(process, runs)]:
        if time.monotonic() > deadline:
            return f"processes are left: {alive}"
        time.sleep(0.1)
    return None


def mentions(process: psutil.Process, runs: Path) -> bool:
    try:
        return any(str(runs) in word for word in process.cmdline()) and process.pid != os.getpid()
    except psutil.Error:
        return False


def the_run(runs: Path) -> Path | None:
    """The only run folder below an output folder."""
    found = sorted(runs.glob("*/*/plan.json"))
    return found[0].parent if found else None


def finished(run: Path) -> bool:
    return (run / "model" / "config.json").exists()


def records(path: Path) -> Iterator[dict[str, object]]:
    """The whole records of a file of JSON lines."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    except OSError:
        return
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def losses(run: Path) -> dict[int, float]:
    """The loss of each step, of the attempt that took it last."""
    return {record["step"]: record["loss"] for record in records(run / "metrics.jsonl")}  # type: ignore[misc]


def first_step(run: Path) -> int:
    """The step that the last attempt went on from."""
    found = list(records(run / "metrics.jsonl"))
    last = max((record["attempt"] for record in found), default=1)  # type: ignore[type-var]
    steps = [record["step"] for record in found if record["attempt"] == last and last != 1]
    return min(steps) - 1 if steps else STEPS  # type: ignore[type-var,operator]


def difference(truth: Truth, run: Path | None) -> str:
    """How a run that should have ended like the undisturbed one did not; empty where it did."""
    if run is None or not finished(run):
        return "there is no model"
    found = losses(run)
    if found.keys() != truth.losses.keys():
        return f"steps {sorted(found.keys() ^ truth.losses.keys())} are missing or too many"
    apart = [step for step, loss in truth.losses.items() if abs(found[step] - loss) > LOSS_TOLERANCE]
    if apart:
        return f"the losses of steps {apart} differ"
    return "" if digest(run / "model") == truth.model else "the model differs"


def digest(model: Path) -> str:
    """Of the weights' files."""
    content = hashlib.sha256()
    for path in sorted(model.glob("*.safetensors")):
        content.update(path.read_bytes())
    return content.hexdigest()


def tabulate(outcomes: list[Outcome], seed: int) -> str:
    """Rows of phases: how often each target was killed, how many runs resumed the same."""
    lines = [
        "| phase | " + " | ".join(TARGETS) + " | resumed the same |",
        "| --- " * (len(TARGETS) + 2) + "|",
    ]
    for phase in PHASES:
        here = [outcome for outcome in outcomes if outcome.moment.phase == phase]
        hits = Counter(outcome.moment.target for outcome in here if not outcome.missed)
        good = sum(not outcome.fault for outcome in here)
        lines.append(
            f"| {phase} | " + " | ".join(str(hits[name]) for name in TARGETS) + f" | {good} of {len(here)} |"
        )
    struck = sum(not outcome.missed for outcome in outcomes)
    lines.append("")
    lines.append(f"Seed {seed}, {len(outcomes)} moments, {struck} struck while the run was alive.")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
