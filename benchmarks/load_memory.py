"""Host memory and time until the first step: `fsdpwiz run` against the same script started by hand.

    python benchmarks/load_memory.py [--ranks 2 4] [--pairs N] [--parameters N] [--write]

A random Llama, bf16 mixed precision with fp32 master weights, SGD, one step. Ours streams the weights, the
stock script has `cpu_ram_efficient_loading: true`. Memory is anonymous with shared memory, of each rank less
what it held after its imports; until the training begins, that is before the first step. The two
sides of a pair take turns in going first. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import marks
import psutil
from llama import Shape, made
from record import write_result
from sampler import Samples
from sides import CACHE, Bar, bar_table, overrides, run_ours, spread, start_stock

NODE_BAR, TIME_BAR = 0.5, 0.9
SHARD_FACTOR, SPARE_GB = 1.1, 0.3
# The stock path holds the whole model on every rank: so many parameters on all of them fit in 16 GB.
PARAMETERS_ON_ALL_RANKS = 2.0e9
STOCK_BYTES = 8.0
STAGES = ("load", "prepare")
FURTHER = ("mixed_precision=bf16", "sft.optim=sgd", "sft.max_steps=1", "sft.save_strategy=no")


@dataclass(frozen=True, slots=True)
class Loaded:
    """One side: its memory, and when each rank had imported, began and ended a stage, ended step 1."""

    began: float
    samples: Samples
    ranks: int
    imported: list[float]
    stages: dict[str, list[tuple[float, float]]]
    stepped: list[float]

    @property
    def baselines(self) -> dict[int, int]:
        return {rank: self.samples.at(moment, rank) for rank, moment in enumerate(self.imported)}

    @property
    def ready(self) -> float:
        """The moment before the first step: when the first rank begins to train."""
        return min(end for _, end in self.stages["prepare"])

    @property
    def node_gb(self) -> float:
        return self.samples.node_peak(self.began, self.ready, self.baselines) / 1e9

    @property
    def rank_gb(self) -> float:
        """Of the rank that held the most."""
        peaks = (
            self.samples.peak(self.began, end, rank) - self.baselines[rank]
            for rank, (_, end) in enumerate(self.stages["prepare"])
        )
        return max(peaks) / 1e9

    @property
    def file_gb(self) -> float:
        return self.samples.file_peak(self.began, self.ready) / 1e9

    @property
    def ready_s(self) -> float:
        return max(end for _, end in self.stages["prepare"]) - self.began

    @property
    def step_s(self) -> float:
        return max(self.stepped) - self.began

    @property
    def ready_after_imports_s(self) -> float:
        return self.ready_s + self.began - max(self.imported)

    @property
    def step_after_imports_s(self) -> float:
        return max(self.stepped) - max(self.imported)


FIGURES = {
    "peak of the node, GB": "node_gb",
    "peak of the fullest rank, GB": "rank_gb",
    "file pages mapped at once, GB": "file_gb",
    "process start to the end of step 1, s": "step_s",
    "imports to the end of step 1, s": "step_after_imports_s",
    "process start to the begin of step 1, s": "ready_s",
    "imports to the begin of step 1, s": "ready_after_imports_s",
}
Pair = tuple[Loaded, Loaded]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--parameters", type=float, help="of the model; default: 2e9 over the ranks")
    parser.add_argument("--write", action="store_true", help="add the tables to benchmarks/results")
    options = parser.parse_args()
    held, tables = True, []
    for ranks in options.ranks:
        shape = Shape.of(options.parameters or PARAMETERS_ON_ALL_RANKS / ranks)
        require_memory(shape.parameters * ranks)
        changes = overrides(shape.parameters, ranks, *FURTHER)
        read_once(made(shape.parameters, CACHE))
        pairs = [run_pair(index, changes, ranks) for index in range(options.pairs)]
        bars = bars_of(pairs, shape)
        held = held and all(bar.held for bar in bars)
        heading = f"{ranks} ranks, {shape.parameters / 1e9:.2f} billion parameters, {len(pairs)} pairs"
        tables += [f"**{heading}**", figure_table(pairs), bar_table(bars), stage_table(pairs[-1])]
        print("\n\n".join(tables[-4:]), flush=True)
    if options.write:
        write_result("load-memory", "\n\n".join(tables))
    return 0 if held else 1


def require_memory(parameters: float) -> None:
    """Exit where the stock side would not fit: it holds `parameters` on all ranks together."""
    needed, free = parameters * STOCK_BYTES, psutil.virtual_memory().available
    if free < needed:
        raise SystemExit(
            f"the stock side takes {needed / 1e9:.0f} GB, {free / 1e9:.0f} GB are free; see --parameters"
        )


def read_once(model: Path) -> None:
    """Bring the files into the page cache, for whichever side goes first."""
    for path in model.glob("*.safetensors"):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def run_pair(index: int, changes: Sequence[str], ranks: int) -> Pair:
    """(Ours, stock)."""
    sides = {"ours": load_ours, "stock": load_stock}
    order = list(sides) if index % 2 == 0 else list(sides)[::-1]
    loaded = {side: sides[side](changes, ranks) for side in order}
    for side, one in loaded.items():
        figures = f"node {one.node_gb:.2f} GB, rank {one.rank_gb:.2f} GB, step 1 after {one.step_s:.1f} s"
        print(f"{ranks} ranks, pair {index + 1}, {side}: {figures}", flush=True)
    return loaded["ours"], loaded["stock"]


def load_ours(changes: Sequence[str], ranks: int) -> Loaded:
    def stepped(run: Path) -> bool:
        return all(any(event["event"] == "step" for event in events_of(run, rank)) for rank in range(ranks))

    followed, run = run_ours(changes, enough=stepped)
    rows = [first_times(events_of(run, rank)) for rank in range(ranks)]
    findings = run / "attempts" / "1" / "findings.jsonl"
    if findings.exists():
        raise SystemExit(f"ours went on from something: {findings.read_text(encoding='utf-8')}")
    stages = {
        "load": [(row["begin", "load"], row["end", "load"]) for row in rows],
        "prepare": [(row["begin", "prepare"], row["begin", "train"]) for row in rows],
    }
    imported, stepped_at = ([row[key] for row in rows] for key in (("end", "start"), ("step", "train")))
    return Loaded(followed.began, followed.samples, ranks, imported, stages, stepped_at)


def load_stock(changes: Sequence[str], ranks: int) -> Loaded:
    followed, folder = start_stock(changes, {"saves": [], "idle_s": None})
    rows = [{mark["mark"]: mark["time"] for mark in marks.read(folder, rank)} for rank in range(ranks)]
    stages = {
        "load": [(row["load"], row["prepare"]) for row in rows],
        "prepare": [(row["prepare"], row["train"]) for row in rows],
    }
    imported, stepped = ([row[mark] for row in rows] for mark in ("imported", "step"))
    return Loaded(followed.began, followed.samples, ranks, imported, stages, stepped)


def first_times(events: Sequence[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """When each event of each phase was first seen."""
    return {(event["event"], event["phase"]): event["time"] for event in reversed(events)}


def events_of(run: Path, rank: int) -> list[dict[str, Any]]:
    path = run / "attempts" / "1" / f"events-{rank}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def bars_of(pairs: Sequence[Pair], shape: Shape) -> list[Bar]:
    shard_gb = shape.parameters * 4 / pairs[0][0].ranks / 1e9
    return [
        Bar("peak of the node, of stock's", ratio(pairs, "node_gb"), NODE_BAR),
        Bar(
            f"peak of the fullest rank, GB (shard {shard_gb:.2f})",
            statistics.median(ours.rank_gb for ours, _ in pairs),
            shard_gb * SHARD_FACTOR + SPARE_GB,
        ),
        Bar("time to the end of step 1, of stock's", ratio(pairs, "step_s"), TIME_BAR),
    ]


def ratio(pairs: Sequence[Pair], figure: str) -> float:
    return statistics.median(getattr(ours, figure) / getattr(stock, figure) for ours, stock in pairs)


def figure_table(pairs: Sequence[Pair]) -> str:
    """Every figure of both sides: median, lowest to highest."""
    lines = ["| | `fsdpwiz run` | stock script | ratio |", "| --- " * 4 + "|"]
    for name, figure in FIGURES.items():
        ours, stock = ([getattr(one, figure) for one in side] for side in zip(*pairs, strict=True))
        ratios = [mine / theirs for mine, theirs in zip(ours, stock, strict=True)]
        lines.append(f"| {name} | {spread(ours)} | {spread(stock)} | {spread(ratios, 3)} |")
    return "\n".join(lines)


def stage_table(pair: Pair) -> str:
    """The counters of each stage and rank, in MB of anonymous memory, of one pair."""
    names = [f"{side}, rank {rank}" for side in ("ours", "stock") for rank in range(pair[0].ranks)]
    lines = [f"| stage, CPU in MB | counter | {' | '.join(names)} |", "| --- " * (2 + len(names)) + "|"]
    for stage in STAGES:
        columns = [_counters(one, stage, rank) for one in pair for rank in range(one.ranks)]
        for counter in columns[0]:
            values = " | ".join(f"{column[counter]:,.0f}" for column in columns)
            lines.append(f"| {stage} | {counter} | {values} |")
    return "\n".join(lines)


def _counters(one: Loaded, stage: str, rank: int) -> dict[str, float]:
    begin, end = one.stages[stage][rank]
    before, after = one.samples.at(begin, rank) / 1e6, one.samples.at(end, rank) / 1e6
    peak = max(one.samples.peak(begin, end, rank) / 1e6, before)
    return {
        "before": before,
        "at end − begin": after - before,
        "peak − begin": peak - before,
        "total peak": peak,
    }


if __name__ == "__main__":
    sys.exit(main())
