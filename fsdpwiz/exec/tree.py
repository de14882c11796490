"""Ending a process and all that came of it.

torchelastic starts each worker in a session of its own, and a launcher that dies leaves them
behind; process groups alone therefore do not reach them. Here the calling process is made the
one that orphans fall to (PR_SET_CHILD_SUBREAPER), so that whatever descends from a child stays
among its own descendants, however often it forked.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_TICK_S = 0.05
_KILL_LIMIT_S = 10.0


def _prctl(option: int, value: int) -> bool:
    if _LIBC is None:
        return False
    return int(_LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0)) == 0


_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def become_subreaper() -> bool:
    """Let orphaned descendants fall to this process; False where the system cannot do that."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent_pid: int, death_signal: int) -> None:
    """In a child between fork and exec: be sent `death_signal` when the parent dies."""
    if _prctl(_PR_SET_PDEATHSIG, death_signal) and os.getppid() != parent_pid:
        os._exit(128 + death_signal)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of ending: a signal, and how long it is given to work."""

    signal: signal.Signals
    grace_s: float


GENTLE = (Stage(signal.SIGINT, 5.0), Stage(signal.SIGTERM, 5.0))
FIRM = (Stage(signal.SIGTERM, 10.0),)


@dataclass(frozen=True, slots=True)
class Tree:
    """A child process and everything that descends from it.

    `before` are this process's descendants that were there before the child: never touched.
    """

    child: subprocess.Popen[bytes]
    before: frozenset[psutil.Process]

    def members(self) -> list[psutil.Process]:
        """The living members; dead orphans that fell to this process are reaped on the way."""
        living = []
        for process in psutil.Process().children(recursive=True):
            if process in self.before:
                continue
            if not _is_dead(process):
                living.append(process)
            elif process.pid != self.child.pid:
                _reap(process.pid)
        return living

    def send(self, number: signal.Signals) -> None:
        """Signal the child's process group; where the child is gone, every member."""
        if self.child.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child.pid, number)
            return
        self._send_all(number)

    def _send_all(self, number: signal.Signals) -> None:
        for process in self.members():
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)

    def end(
        self, stages: tuple[Stage, ...] = FIRM, *, hurried: Callable[[], bool] = lambda: False
    ) -> list[psutil.Process]:
        """End every member: the stages' signals one after the other, then SIGKILL.

        `hurried` is asked while waiting; once true the rest of the grace is skipped. Returns the
        members that even SIGKILL did not end (in uninterruptible sleep).
        """
        for index, stage in enumerate(stages):
            if not self._is_alive():
                break
            self._stage(stage, hurried, through_child=index == 0)
        return self._kill()

    def _stage(self, stage: Stage, hurried: Callable[[], bool], *, through_child: bool) -> None:
        """One signal and its grace. The child may pass it on to the others; once it is gone we do."""
        deadline = time.monotonic() + stage.grace_s
        if through_child:
            self.send(stage.signal)
            self._wait(deadline, hurried, until=lambda: self.child.poll() is not None)
        if time.monotonic() < deadline:
            self._send_all(stage.signal)
        self._wait(deadline, hurried, until=lambda: not self._is_alive())

    def _is_alive(self) -> bool:
        return self.child.poll() is None or bool(self.members())

    def _wait(self, deadline: float, hurried: Callable[[], bool], *, until: Callable[[], bool]) -> None:
        while time.monotonic() < deadline and not until() and not hurried():
            time.sleep(_TICK_S)

    def _kill(self) -> list[psutil.Process]:
        deadline = time.monotonic() + _KILL_LIMIT_S
        while self._is_alive() and time.monotonic() < deadline:
            self._send_all(signal.SIGKILL)
            time.sleep(_TICK_S)
        self.child.poll()
        return self.members()


def _is_dead(process: psutil.Process) -> bool:
    try:
        return bool(process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD))
    except psutil.NoSuchProcess:
        return True


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
