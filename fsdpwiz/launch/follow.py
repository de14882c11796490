"""How far a run is, read off the files its ranks append to; never off their output."""

from __future__ import annotations

import statistics
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.records import Tail, number

_RANKS_FOLLOWED = 64
_STEPS_AVERAGED = 20
_BEFORE_TRAINING = ("start", "data", "load", "prepare")
_WITHIN_TRAINING = frozenset({"evaluate", "save"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Where the time of an attempt's steps went, in seconds, all of its steps together.

    `step_s` has none of loading, evaluation and saving in it; `data_s` and `optimizer_s` are parts of it,
    the rest is forward and backward; `save_stall_s` comes on top. The first step is left out where there
    are more: it makes what later ones find.
    """

    steps: int = 0
    tokens: int = 0
    step_s: float = 0.0
    data_s: float = 0.0
    optimizer_s: float = 0.0
    save_stall_s: float = 0.0

    @property
    def tokens_per_s(self) -> float | None:
        """Of all ranks together."""
        return self.tokens / self.step_s if self.step_s and self.tokens else None

    @property
    def tokens_per_step(self) -> float | None:
        return self.tokens / self.steps if self.steps and self.tokens else None

    def plus(self, record: dict[str, Any]) -> Breakdown:
        """With another line of the metrics."""
        return Breakdown(
            steps=self.steps + 1,
            tokens=self.tokens + (_whole(record.get("tokens")) or 0),
            **{
                name: getattr(self, name) + max(number(record.get(name)) or 0.0, 0.0)
                for name in ("step_s", "data_s", "optimizer_s", "save_stall_s")
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One look at a run.

    `phase` is what the lowest rank that reports is at: the outermost open phase, within training also
    an evaluation or a save. Until training begins it never goes back, whatever other ranks are at.
    `step` is the last one whose metrics are there, `first_step` the first of this attempt. `loss`
    is the newest one, `first_loss` that of the lowest step. `memory_bytes` is the highest
    peak of a rank in this attempt: of its GPU, or resident where there is no GPU. `exported`:
    rank 0 has come to the end of the export, which it only does with a verified model. `breakdown` is
    this attempt's.
    """

    phase: str | None = None
    phase_s: float = 0.0
    step: int | None = None
    first_step: int | None = None
    total_steps: int | None = None
    loss: float | None = None
    first_loss: float | None = None
    tokens_per_s: float | None = None
    step_s: float | None = None
    memory_bytes: int | None = None
    on_gpu: bool = False
    exported: bool = False
    breakdown: Breakdown | None = None

    @property
    def seconds_left(self) -> float | None:
        """Time until the last step, from the steps so far."""
        if self.step is None or self.total_steps is None or self.step_s is None:
            return None
        return max(0, self.total_steps - self.step) * self.step_s


class Follower:
    """Reads what one attempt's ranks have appended since the last look."""

    def __init__(self, run: RunFolder, attempt: int, plan: Plan) -> None:
        self._metrics = Tail(run.metrics)
        self._attempt = attempt
        ranks = range(min(plan.world.world_size, _RANKS_FOLLOWED))
        self._events = {rank: Tail(run.attempt(attempt).events(rank)) for rank in ranks}
        self._phases: dict[int, list[tuple[str, float]]] = {rank: [] for rank in ranks}
        self._step: int | None = None
        self._first_step: int | None = None
        self._total_steps = planned_steps(plan)
        self._losses: dict[str, tuple[int, float]] = {}
        self._tokens_per_s: deque[float] = deque(maxlen=_STEPS_AVERAGED)
        self._step_s: deque[float] = deque(maxlen=_STEPS_AVERAGED)
        self._rss_peak_bytes: int | None = None
        self._gpu_peak_bytes: int | None = None
        self._exported = False
        self._furthest: tuple[str, float] | None = None
        self._breakdown: Breakdown | None = None

    def look(self) -> Progress:
        """The present state; cheap where nothing was appended."""
        for rank, tail in self._events.items():
            while records := tail.read():
                for record in records:
                    self._take_event(rank, record)
        while records := self._metrics.read():
            for record in records:
                self._take_metrics(record)
        return self._progress()

    def _progress(self) -> Progress:
        reporting = next((phases for _, phases in sorted(self._phases.items()) if phases), None)
        phase, since = self._onward(_at(reporting)) if reporting else (None, time.time())
        gpu = self._gpu_peak_bytes
        return Progress(
            phase=phase,
            phase_s=max(0.0, time.time() - since),
            step=self._step,
            first_step=self._first_step,
            total_steps=self._total_steps,
            loss=self._losses["final"][1] if "final" in self._losses else None,
            first_loss=self._losses["first"][1] if "first" in self._losses else None,
            tokens_per_s=statistics.median(self._tokens_per_s) if self._tokens_per_s else None,
            step_s=statistics.median(self._step_s) if self._step_s else None,
            memory_bytes=gpu if gpu is not None else self._rss_peak_bytes,
            on_gpu=gpu is not None,
            exported=self._exported,
            breakdown=self._breakdown,
        )

    def _onward(self, phase: tuple[str, float]) -> tuple[str, float]:
        """`phase`, or the one before it where `phase` comes earlier on the way to training."""
        if self._furthest is not None and _order(phase[0]) < _order(self._furthest[0]):
            return self._furthest
        self._furthest = phase
        return phase

    def _before(self, record: dict[str, Any]) -> Breakdown:
        """What `record` is added to: without the first step, but for its save."""
        before = self._breakdown or Breakdown()
        second = before.steps == 1 and self._step == self._first_step != _whole(record.get("step"))
        return Breakdown(save_stall_s=before.save_stall_s) if second else before

    def _take_event(self, rank: int, record: dict[str, Any]) -> None:
        event, phase = record.get("event"), record.get("phase")
        opened = self._phases[rank]
        if event == "begin" and isinstance(phase, str) and len(opened) < 100:
            opened.append((phase, number(record.get("time")) or time.time()))
        elif event == "end":
            while opened and opened.pop()[0] != phase:
                pass
            self._exported = self._exported or (rank == 0 and phase == "export")
        self._rss_peak_bytes = _highest(self._rss_peak_bytes, record.get("rss_peak_bytes"))
        self._gpu_peak_bytes = _highest(self._gpu_peak_bytes, record.get("gpu_peak_bytes"))
        self._total_steps = _whole(record.get("total_steps")) or self._total_steps

    def _take_metrics(self, record: dict[str, Any]) -> None:
        step, loss = _whole(record.get("step")), number(record.get("loss"))
        if step is None:
            return
        if loss is not None:
            first = self._losses.get("first")
            if first is None or step <= first[0]:
                self._losses["first"] = (step, loss)
            self._losses["final"] = (step, loss)
        if record.get("attempt") != self._attempt:
            return
        self._breakdown = self._before(record).plus(record)
        self._first_step = step if self._first_step is None else self._first_step
        self._step = max(step, self._step or 0)
        for name, values in (("tokens_per_s", self._tokens_per_s), ("step_s", self._step_s)):
            value = number(record.get(name))
            if value is not None and value >= 0:
                values.append(value)


def _at(opened: list[tuple[str, float]]) -> tuple[str, float]:
    """The phase to show of those that are open, outermost first."""
    if opened[0][0] != "train":
        return opened[0]
    return next((one for one in reversed(opened) if one[0] in _WITHIN_TRAINING), opened[0])


def _order(phase: str) -> int:
    """The place of a phase on the way to training; that and all later ones come last."""
    return _BEFORE_TRAINING.index(phase) if phase in _BEFORE_TRAINING else len(_BEFORE_TRAINING)


def planned_steps(plan: Plan) -> int | None:
    """The optimizer steps of the whole run where the plan says so; by epochs only the trainer knows."""
    steps = plan.training.get("max_steps")
    return steps if plan.script is None and isinstance(steps, int) and steps > 0 else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _highest(first: int | None, second: Any) -> int | None:
    known = [value for value in (first, _whole(second)) if value is not None]
    return max(known) if known else None
