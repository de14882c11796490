"""A run's progress shown: a bar on a terminal, lines elsewhere, or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TextIO

from fsdpwiz.core.text import visible
from fsdpwiz.core.units import format_bytes, format_seconds
from fsdpwiz.launch.follow import Progress

LINE_INTERVAL_S = 10.0
_PHASE_CHARACTERS = 40
_DOING = {
    "start": "starting the ranks",
    "data": "reading the data",
    "load": "loading the model",
    "prepare": "wrapping the model",
    "train": "training",
    "evaluate": "evaluating",
    "save": "saving a checkpoint",
    "export": "exporting and verifying the model",
    "end": "ending",
}


class Display(Protocol):
    """Where progress is shown."""

    def show(self, progress: Progress) -> None:
        """Show what has changed since the last call."""

    def say(self, text: str) -> None:
        """Show a line that stays."""

    def close(self) -> None:
        """Leave the screen to others."""


class Silence:
    """Shows nothing."""

    def show(self, progress: Progress) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


class Lines:
    """A line for each new phase; while it trains one every `interval_s` seconds, and for the last step."""

    def __init__(self, write: Callable[[str], None], *, interval_s: float = LINE_INTERVAL_S) -> None:
        self._write = write
        self._interval_s = interval_s
        self._phase: str | None = None
        self._step: int | None = None
        self._due_s = 0.0

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase not in (self._phase, None):
            if progress.phase != "train" or self._step is None:
                self._write(doing(progress.phase))
            self._phase = progress.phase
        is_new = progress.step is not None and progress.step != self._step
        if is_new and (now >= self._due_s or progress.step == progress.total_steps):
            self._write(", ".join(facts(progress)))
            self._step = progress.step
            self._due_s = now + self._interval_s

    def say(self, text: str) -> None:
        self._write(text)

    def close(self) -> None:
        pass


class Bar:
    """A progress bar on a terminal, redrawn by `show`."""

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        console = Console(file=stream, no_color=not colour, highlight=False, force_terminal=True)
        columns = (SpinnerColumn("line"), TextColumn("{task.description}", markup=False), BarColumn(20))
        text = TextColumn("{task.fields[facts]}", markup=False)
        self._bar = Progress(*columns, text, console=console, auto_refresh=False, transient=True)
        self._task = self._bar.add_task("starting", total=None, facts="")
        self._bar.start()

    def show(self, progress: Progress) -> None:
        """Redraw; the spinner turns also where nothing is new."""
        known = progress.step is not None and progress.phase in ("train", None)
        self._bar.update(
            self._task,
            description=doing(progress.phase if progress.step is None else progress.phase or "end"),
            completed=progress.step or 0,
            total=progress.total_steps if progress.step is not None else None,
            facts="  ".join(facts(progress)) if known else _waiting(progress),
        )
        self._bar.refresh()

    def say(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        self._bar.stop()


def doing(phase: str | None) -> str:
    """What a phase is about, for a person."""
    if phase is None:
        return "starting"
    return _DOING.get(phase, visible(phase, limit=_PHASE_CHARACTERS).replace("\n", " "))


def facts(progress: Progress) -> list[str]:
    """Step, loss, tokens/s, memory and time left, whichever are known."""
    total = f"/{progress.total_steps}" if progress.total_steps else ""
    known = [f"step {progress.step}{total}"]
    if progress.loss is not None:
        known.append(f"loss {progress.loss:.4g}")
    if progress.tokens_per_s is not None:
        known.append(f"{rate(progress.tokens_per_s)} tokens/s")
    if progress.memory_bytes is not None:
        known.append(f"{'GPU' if progress.on_gpu else 'memory'} {format_bytes(progress.memory_bytes)}")
    if progress.seconds_left is not None:
        known.append(f"{format_seconds(progress.seconds_left)} left")
    return known


def rate(tokens_per_s: float) -> str:
    """A rate with three significant digits, and thousands apart."""
    return f"{tokens_per_s:,.0f}" if tokens_per_s >= 100 else f"{tokens_per_s:.3g}"


def _waiting(progress: Progress) -> str:
    seconds = f"{format_seconds(progress.phase_s)}" if progress.phase else ""
    step = f"step {progress.step}  " if progress.step is not None else ""
    return f"{step}{seconds}"
