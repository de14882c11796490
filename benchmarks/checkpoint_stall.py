"""What checkpoints cost the training loop, in time and memory: fsdpwiz's own against the stock Trainer's.

    python benchmarks/checkpoint_stall.py [--steps idle|busy] [--ranks N] [--parameters N] [--write]

A random Llama, AdamW, everything in float32. With `idle` steps forward and backward are a second of sleep
and a barrier on both sides, which leaves the CPU as free as a GPU's step does; the optimizer's step is real.
With `busy` steps all is computed on the CPU. In one training 15 steps run without a save, 30 with one before
every ten, and another 15 without. Blocked is what a save kept the slowest rank waiting, the hook before the
optimizer's step included. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import marks
from llama import Shape
from record import write_result
from sides import WORK, Bar, Followed, bar_table, overrides, spread, start_marked, start_stock

WARM_UP, HALF, EACH, SAVES, AFTER = 4, 15, 10, 3, 3
BEGIN = WARM_UP + HALF
SAVED = tuple(BEGIN + EACH * index for index in range(SAVES))
END = BEGIN + EACH * SAVES
STEPS = END + AFTER + HALF
IDLE_S = 1.0
BLOCKED_OF_SHARDED = {"idle": 0.15, "busy": 0.1}
BLOCKED_OF_FULL = 0.05
EXTRA_OF_SHARDED = {"idle": 0.3, "busy": 0.7}
SPARE_GB, BLOCK_GB = 0.3, 16 * 2**20 / 1e9
BYTES_PER_PARAMETER = 12
STAGING_GB = 0.5
SHARDED, FULL, OURS, BOUNDED = "stock SHARDED", "stock FULL", "ours", f"ours, staging_gb {STAGING_GB}"
FURTHER = (
    "mixed_precision=no",
    f"sft.max_steps={STEPS}",
    "sft.save_strategy=steps",
    f"sft.save_steps={EACH}",
)
FULL_STATE = ("fsdp.state_dict_type=FULL_STATE_DICT",)


@dataclass(frozen=True, slots=True)
class Saved:
    """One side: its marks by rank, its memory, and its folder's answers about what was written."""

    followed: Followed
    marks: list[list[dict[str, Any]]]
    written_s: tuple[float, ...] = ()
    export: tuple[tuple[float, float], ...] = ()

    def ended(self, step: int, rank: int = 0) -> float:
        """When a step ended."""
        return next(mark["time"] for mark in self.marks[rank] if mark.get("step") == step)

    def wall_s(self, first: int, last: int) -> float:
        """From the end of step `first`, so with what follows it, to the end of step `last`."""
        return self.ended(last) - self.ended(first)

    @property
    def step_s(self) -> float:
        """The mean of a step without saves."""
        return (self.wall_s(WARM_UP, BEGIN) + self.wall_s(STEPS - HALF, STEPS)) / (2 * HALF)

    @property
    def blocked_s(self) -> list[float]:
        """For each save, on the rank that waited longest."""
        return [max(self._stalled_s(step, rank) for rank in range(len(self.marks))) for step in SAVED]

    def _stalled_s(self, step: int, rank: int) -> float:
        begin, end = self.ended(step, rank), self.ended(step + EACH, rank)
        stalls = (mark for mark in self.marks[rank] if mark["mark"] == "stall")
        return sum(mark["seconds"] for mark in stalls if begin <= mark["time"] < end)

    @property
    def extra_s(self) -> list[float]:
        """For each save, what ten steps took longer with it than without."""
        return [self.wall_s(step, step + EACH) - EACH * self.step_s for step in SAVED]

    @property
    def grown_gb(self) -> list[float]:
        """For each rank, its peak while there were saves above that of a step before any was made ready."""
        return [self._grown(rank) / 1e9 for rank in range(len(self.marks))]

    def _grown(self, rank: int) -> int:
        peak = self.followed.samples.peak
        before = peak(self.ended(1), self.ended(2), rank)
        return peak(self.ended(BEGIN), self.ended(END), rank) - before

    @property
    def export_grown_gb(self) -> list[float]:
        """For each rank, its peak during the export above what it held when that began."""
        samples = self.followed.samples
        return [
            (samples.peak(begin, end, rank) - samples.at(begin, rank)) / 1e9
            for rank, (begin, end) in enumerate(self.export)
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", choices=("idle", "busy"), default="idle")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--parameters", type=float, default=0.35e9)
    parser.add_argument("--write", action="store_true", help="add the tables to benchmarks/results")
    options = parser.parse_args()
    shape = Shape.of(options.parameters)
    changes = overrides(shape.parameters, options.ranks, *FURTHER)
    idle_s = IDLE_S if options.steps == "idle" else None
    sides = {
        SHARDED: lambda: save_stock(changes, options.ranks, idle_s),
        OURS: lambda: save_ours(changes, options.ranks, idle_s),
    }
    if options.steps == "idle":
        bounded = [*changes, f"checkpoint.staging_gb={STAGING_GB}"]
        sides[BOUNDED] = lambda: save_ours(bounded, options.ranks, idle_s)
        sides[FULL] = lambda: save_stock([*changes, *FULL_STATE], options.ranks, idle_s)
    saved = {name: measured(name, side) for name, side in sides.items()}
    bars = bars_of(saved, options.steps, state_gb(shape, options.ranks))
    heading = (
        f"**{options.ranks} ranks, {shape.parameters / 1e9:.2f} billion parameters, {options.steps} steps of "
        f"{saved[OURS].step_s:.2f} s (stock {saved[SHARDED].step_s:.2f} s)**"
    )
    tables = "\n\n".join([heading, figure_table(saved), bar_table(bars)])
    print(tables)
    if options.write:
        write_result("checkpoint-stall", tables)
    return 0 if all(bar.held for bar in bars) else 1


def state_gb(shape: Shape, ranks: int) -> float:
    """What one rank writes of a checkpoint: weights and two moments."""
    return shape.parameters * BYTES_PER_PARAMETER / ranks / 1e9


def measured(name: str, side: Callable[[], Saved]) -> Saved:
    saved = side()
    for folder in (WORK / "stock" / "output", WORK / "marked" / "checkpoints", WORK / "marked" / "model"):
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"{name}: blocked {spread(saved.blocked_s)} s a save, extra {sum(saved.extra_s):.2f} s, "
        f"a step {saved.step_s:.2f} s",
        flush=True,
    )
    return saved


def save_stock(changes: Sequence[str], ranks: int, idle_s: float | None) -> Saved:
    followed, folder = start_stock(changes, {"saves": SAVED, "idle_s": idle_s})
    missing = [step for step in SAVED if not (folder / "output" / f"checkpoint-{step}").is_dir()]
    if missing:
        raise SystemExit(f"stock wrote no checkpoint after steps {missing}")
    return Saved(followed, [marks.read(folder, rank) for rank in range(ranks)])


def save_ours(changes: Sequence[str], ranks: int, idle_s: float | None) -> Saved:
    followed, folder = start_marked(changes, {"saves": SAVED, "idle_s": idle_s})
    findings = folder / "attempts" / "1" / "findings.jsonl"
    if findings.exists():
        raise SystemExit(f"ours went on from something: {findings.read_text(encoding='utf-8')}")
    kept = [marks.read(folder, rank) for rank in range(ranks)]
    export = tuple(_export(folder, rank) for rank in range(ranks))
    saved = Saved(followed, kept, export=export)
    sealed = [folder / "checkpoints" / f"step-{step}" / "fsdpwiz.json" for step in SAVED]
    written_s = tuple(
        path.stat().st_mtime - saved.ended(step) for path, step in zip(sealed, SAVED, strict=True)
    )
    check_metrics(saved, folder / "metrics.jsonl")
    return Saved(followed, kept, written_s, export)


def _export(folder: Path, rank: int) -> tuple[float, float]:
    lines = (folder / "attempts" / "1" / f"events-{rank}.jsonl").read_text(encoding="utf-8").splitlines()
    events = [event for event in map(json.loads, lines) if event["phase"] == "export"]
    times = {event["event"]: event["time"] for event in events}
    return times["begin"], times["end"]


def check_metrics(saved: Saved, metrics: Path) -> None:
    """The stalls that rank 0 wrote down itself are those that are measured here."""
    records = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    written = sum(record["save_stall_s"] for record in records)
    stalls = (mark for mark in saved.marks[0] if mark["mark"] == "stall")
    here = sum(mark["seconds"] for mark in stalls if mark["time"] < saved.ended(STEPS))
    if abs(written - here) > 0.01:
        raise SystemExit(f"metrics.jsonl has stalls of {written:.3f} s in all, measured were {here:.3f} s")


def bars_of(saved: dict[str, Saved], steps: str, rank_gb: float) -> list[Bar]:
    ours, sharded = saved[OURS], saved[SHARDED]
    blocked = statistics.median(ours.blocked_s)
    bars = [
        Bar(
            "blocked by a save, of stock's SHARDED",
            blocked / statistics.median(sharded.blocked_s),
            BLOCKED_OF_SHARDED[steps],
        ),
        Bar(
            "blocked by the first save, of stock's SHARDED",
            ours.blocked_s[0] / sharded.blocked_s[0],
            BLOCKED_OF_SHARDED[steps],
        ),
        Bar(
            "extra wall time of 30 steps with three saves, of stock's SHARDED",
            sum(ours.extra_s) / sum(sharded.extra_s),
            EXTRA_OF_SHARDED[steps],
        ),
    ]
    if FULL in saved:
        of_full = blocked / statistics.median(saved[FULL].blocked_s)
        bars.append(Bar("blocked by a save, of stock's FULL", of_full, BLOCKED_OF_FULL))
    staged_gb = {OURS: rank_gb, BOUNDED: STAGING_GB}
    for name in (side for side in staged_gb if side in saved):
        one = saved[name]
        longer = ours.step_s > max(one.written_s)
        limit_gb = SPARE_GB + (0.0 if longer else staged_gb[name])
        bars.append(Bar(f"{name}: growth of a rank's peak during saves, GB", max(one.grown_gb), limit_gb))
        grown_gb = max(one.export_grown_gb)
        bars.append(Bar(f"{name}: growth of a rank during export, GB", grown_gb, SPARE_GB + BLOCK_GB))
    return bars


def figure_table(saved: dict[str, Saved]) -> str:
    lines = [
        "| | blocked by a save, s | first save, s | extra wall of the window, s | of each ten steps, s "
        "| growth of a rank's peak, GB | written after, s | growth during export, GB |",
        "| --- " * 8 + "|",
    ]
    for name, one in saved.items():
        written = spread(one.written_s) if one.written_s else "when unblocked"
        export = spread(one.export_grown_gb) if one.export else ""
        lines.append(
            f"| {name} | {spread(one.blocked_s)} | {one.blocked_s[0]:.2f} | {sum(one.extra_s):.2f} "
            f"| {spread(one.extra_s)} | {spread(one.grown_gb)} | {written} | {export} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
