"""Starting processes: argument lists, environment, time-outs; no shell."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from fsdpwiz.exec.tree import FIRM, Stage, Tree, become_subreaper, die_with_parent

_DRAIN_S = 1.0


def start(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    log: Path | None = None,
    death_signal: signal.Signals = signal.SIGTERM,
) -> Tree:
    """Start `command` in a session of its own, with nothing on stdin, its output appended to `log`.

    `environ` is the whole environment. Without `log` the child inherits this process's output.
    The child is sent `death_signal` should this process die first. Raises OSError where the
    program or the log cannot be opened.
    """
    become_subreaper()
    before = frozenset(psutil.Process().children(recursive=True))
    output = None if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = subprocess.Popen(
            list(command),
            env=dict(environ),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=functools.partial(die_with_parent, os.getpid(), death_signal),
        )
    finally:
        if output is not None:
            os.close(output)
    return Tree(child, before)


@contextlib.contextmanager
def started(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path | None = None,
    log: Path | None = None,
    stages: tuple[Stage, ...] = FIRM,
) -> Iterator[Tree]:
    """As `start`, for a block: however it is left, no process of the tree outlives it."""
    tree = start(command, environ=environ, cwd=cwd, log=log)
    try:
        yield tree
    finally:
        tree.end(stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A command that ended, or was ended: what it printed and its exit code (negative: a signal)."""

    exit_code: int
    stdout: str
    stderr: str
    timed_out: bool = False


def run(
    command: Sequence[str],
    *,
    timeout_s: float,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Completed:
    """Run a short command and take what it prints; after `timeout_s` its whole process group is killed.

    Raises OSError where the program cannot be started.
    """
    child = subprocess.Popen(
        list(command),
        env=None if environ is None else dict(environ),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        encoding="utf-8",
        errors="replace",
    )
    try:
        stdout, stderr = child.communicate(timeout=timeout_s)
        return Completed(exit_code=child.returncode, stdout=stdout, stderr=stderr)
    except subprocess.TimeoutExpired:
        stdout, stderr = _killed(child)
        return Completed(exit_code=child.returncode, stdout=stdout, stderr=stderr, timed_out=True)
    except BaseException:
        _killed(child)
        raise


def _killed(child: subprocess.Popen[str]) -> tuple[str, str]:
    """Kill the child's process group; what it printed, unless a process that left it holds the pipe."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    try:
        return child.communicate(timeout=_DRAIN_S)
    except subprocess.TimeoutExpired:
        return "", ""
