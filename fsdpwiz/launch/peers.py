"""The other nodes of a run, by their launchers' records in the shared run folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from fsdpwiz.core.errors import FsdpwizError
from fsdpwiz.core.problem import Problem
from fsdpwiz.exec.interrupts import Interrupts
from fsdpwiz.launch.node import Node
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.engine import word
from fsdpwiz.runs import records
from fsdpwiz.runs.layout import Attempt, RunFolder
from fsdpwiz.runs.state import StateName, last_attempt, launcher_state

PEER_GRACE_S = 20.0
JOIN_LIMIT_S = 600.0
_LOOK_INTERVAL_S = 2.0
_NOTE_AFTER_S = 3.0
_GONE: tuple[StateName, ...] = ("cancelled", "failed")


class Peers:
    """Watches whether another node has ended badly, for then this one waits for it in vain."""

    def __init__(self, attempt: Attempt, plan: Plan, node: Node) -> None:
        self._attempt = attempt
        self._others = [rank for rank in range(plan.world.nodes) if rank != node.rank]
        self._due_s = 0.0
        self._since_s: float | None = None
        self.gone: int | None = None

    def gone_for_s(self) -> float:
        """Seconds since another node was first seen to have failed or been cancelled; 0 while none has."""
        now = time.monotonic()
        if self._since_s is None and now >= self._due_s:
            self._due_s = now + _LOOK_INTERVAL_S
            if self.state() is not None:
                self._since_s = now
        return 0.0 if self._since_s is None else now - self._since_s

    def state(self) -> StateName | None:
        """How another node has ended badly, None where none has; `gone` is then its rank."""
        for rank in self._others:
            state = launcher_state(records.read(self._attempt.launch(rank)))
            if state in _GONE:
                self.gone = rank
                return state
        return None


def wait_for_start(
    run: RunFolder,
    node: Node,
    *,
    note: Callable[[str], None],
    interrupts: Interrupts,
    limit_s: float = JOIN_LIMIT_S,
) -> int | None:
    """Wait until node 0 has started an attempt that this node is not yet part of; the attempt's number.

    None where the user interrupted. Raises FsdpwizError P024 after `limit_s`.
    """
    began = time.monotonic()
    noted = False
    while not interrupts.requested:
        attempt = _open_attempt(run, node)
        if attempt is not None:
            return attempt
        waited_s = time.monotonic() - began
        if waited_s >= limit_s:
            detail = {"node_rank": node.rank, "path": str(run.root), "waited_s": waited_s}
            raise FsdpwizError(word(Problem(code="P024", detail=detail)))
        if waited_s >= _NOTE_AFTER_S and not noted:
            noted = True
            note(f"waiting up to {limit_s:.0f} s for node 0 to start the run in {run.root}")
        time.sleep(min(0.5, limit_s))
    return None


def _open_attempt(run: RunFolder, node: Node) -> int | None:
    number = last_attempt(run)
    if number == 0 or _exists(run.attempt(number).launch(node.rank)):
        return None
    events = [record.get("event") for record in records.read(run.attempt(number).launch(0))]
    return number if "start" in events and "end" not in events else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
