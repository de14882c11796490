"""fsdpwiz's own rank with the marks, saves and steps of a benchmark: `python -m fsdpwiz.train` and no more.

    accelerate launch --config_file accelerate.yaml marked_train.py SETTINGS.json PLAN.json

SETTINGS.json: {"marks", "saves", "idle_s"}. A stall is marked as metrics.jsonl counts it, and on every rank.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import marks

from fsdpwiz.train import __main__ as rank
from fsdpwiz.train.metrics import StepClock


def mark_stalls(kept: marks.Marks) -> None:
    """Both kinds that the clock is told: of a save itself, and of the hook before the optimizer's step."""
    for name in ("add_save_stall", "add_stall_within_step"):
        setattr(StepClock, name, _marking(getattr(StepClock, name), kept))


def _marking(
    count: Callable[[StepClock, float], None], kept: marks.Marks
) -> Callable[[StepClock, float], None]:
    def marked(clock: StepClock, seconds: float) -> None:
        count(clock, seconds)
        kept.add("stall", seconds=seconds)

    return marked


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    kept = marks.Marks(Path(settings["marks"]))
    kept.add("imported")
    mark_stalls(kept)
    marks.follow(kept, settings["saves"])
    if settings["idle_s"] is not None:
        marks.idle(settings["idle_s"])
    rank.main(sys.argv[2:])


if __name__ == "__main__":
    main()
