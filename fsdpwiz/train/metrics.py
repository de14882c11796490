"""metrics.jsonl: one line for each optimizer step, written by rank 0."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fsdpwiz.runs.records import append
from fsdpwiz.train.optimizer_timer import HostTimer, OptimizerTimer

_LOGGED = ("loss", "grad_norm", "eval_loss")


class StepClock:
    """Times one optimizer step after the other, without the saves and evaluations between them.

    `step_s` runs from the end of the step before (or of what followed it) to the end of this
    one, `data_s` is the part of it spent waiting for batches, `save_stall_s` what saves kept the
    loop waiting: after this step, or before its optimizer's step, which `step_s` leaves out. `optimizer_s`
    is the part in the optimizer's step, null where it is not known yet; the rest is forward and backward.
    On a GPU it is that of the newest step that the GPU has finished, mostly the one before.
    """

    def __init__(self, timer: OptimizerTimer | None = None) -> None:
        self._optimizer = timer or HostTimer()
        self._in_optimizer = False
        self._begin_s = time.perf_counter()
        self._step_s: float | None = None
        self._data_s = 0.0
        self._save_stall_s = 0.0
        self._stall_within_s = 0.0

    def restart(self) -> None:
        """The next step begins now."""
        self._begin_s = time.perf_counter()
        self._step_s, self._data_s, self._save_stall_s = None, 0.0, 0.0
        self._stall_within_s = 0.0

    @property
    def ended(self) -> bool:
        """Whether a step has ended since the last restart."""
        return self._step_s is not None

    def end_step(self) -> None:
        self._step_s = time.perf_counter() - self._begin_s - self._stall_within_s

    def batches(self, source: Iterator[Any]) -> Iterator[Any]:
        """`source`, with the time each item takes counted as data time."""
        return _Timed(source, self)

    def add_data(self, seconds: float) -> None:
        self._data_s += seconds

    def add_save_stall(self, seconds: float) -> None:
        self._save_stall_s += seconds

    def add_stall_within_step(self, seconds: float) -> None:
        self._save_stall_s += seconds
        self._stall_within_s += seconds
        if self._in_optimizer:
            self._optimizer.begin()

    def begin_optimizer(self) -> None:
        self._in_optimizer = True
        self._optimizer.begin()

    def end_optimizer(self) -> None:
        self._in_optimizer = False
        self._optimizer.end()

    def record(self, tokens: int | None) -> dict[str, Any]:
        """The time columns of the step that ended."""
        step_s = self._step_s
        rate = tokens / step_s if tokens is not None and step_s else None
        return {
            "tokens_per_s": _rounded(rate, 1),
            "step_s": _rounded(step_s, 6),
            "data_s": _rounded(self._data_s, 6),
            "optimizer_s": _rounded(self._optimizer.take(), 6),
            "save_stall_s": _rounded(self._save_stall_s, 6),
        }


class _Timed:
    def __init__(self, source: Iterator[Any], clock: StepClock) -> None:
        self._source = source
        self._clock = clock

    def __iter__(self) -> _Timed:
        return self

    def __next__(self) -> Any:
        begin_s = time.perf_counter()
        try:
            return next(self._source)
        finally:
            self._clock.add_data(time.perf_counter() - begin_s)


class Metrics:
    """Gathers what becomes known of a step and appends its line.

    Nothing is read from the device for it: loss, grad_norm and eval_loss are those that the
    trainer has read because it logs them, else null.
    """

    def __init__(
        self, path: Path, *, attempt: int, writes: bool, timer: OptimizerTimer | None = None
    ) -> None:
        self._path = path
        self._attempt = attempt
        self._writes = writes
        self._tokens_before = 0
        self._held = False
        self._logged: dict[str, float] = {}
        self.clock = StepClock(timer)
        self.learning_rate: float | None = None

    def note(self, logs: Mapping[str, float]) -> None:
        """Keep what the trainer has logged since the last line."""
        self._logged.update({name: logs[name] for name in _LOGGED if name in logs})

    def finish(self, step: int, tokens_total: int | None, *, again: bool) -> None:
        """What followed a step is over: write its line; with `again` only at the second call.

        `tokens_total` counts the tokens of all ranks since the attempt began.
        """
        if self.clock.ended and again and not self._held:
            self._held = True
            return
        if self.clock.ended:
            self._write(step, tokens_total)
        self._held = False
        self._logged = {}
        self.clock.restart()

    def _write(self, step: int, tokens_total: int | None) -> None:
        tokens = None if tokens_total is None else int(tokens_total) - self._tokens_before
        self._tokens_before = int(tokens_total or 0)
        if not self._writes:
            return
        record = {
            "attempt": self._attempt,
            "step": step,
            "loss": self._logged.get("loss"),
            "learning_rate": self.learning_rate,
            "grad_norm": self._logged.get("grad_norm"),
            "eval_loss": self._logged.get("eval_loss"),
            "tokens": tokens,
            **self.clock.record(tokens),
        }
        append(self._path, record)


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
