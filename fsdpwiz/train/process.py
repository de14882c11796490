"""A rank as a process: where its output goes, that it dies with its launcher, how it ends."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from fsdpwiz.core import exit_codes
from fsdpwiz.runs.layout import Attempt, RunFolder
from fsdpwiz.train.failure import write_failure

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RankProcess:
    """Which rank of which attempt of which run this process is."""

    plan_path: Path
    rank: int
    attempt_number: int

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.plan_path.parent)

    @property
    def attempt(self) -> Attempt:
        return self.folder.attempt(self.attempt_number)


def this_process(arguments: list[str]) -> RankProcess:
    """The rank that the command line and the environment (RANK, FSDPWIZ_ATTEMPT) speak of.

    Raises SystemExit where they do not name a plan.
    """
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        sys.stderr.write("usage: python -m fsdpwiz.train PLAN.json\n")
        raise SystemExit(exit_codes.NOT_JUDGED)
    return RankProcess(
        plan_path=Path(arguments[0]).absolute(),
        rank=int(os.environ.get("RANK", "0")),
        attempt_number=int(os.environ.get("FSDPWIZ_ATTEMPT", "1")),
    )


def begin(process: RankProcess) -> None:
    """Point this process's output at its log and tie its life to its parent's.

    SIGTERM writes the stacks of all threads to the stack file, then ends the process at once,
    also where it waits for another rank inside a collective. SIGUSR1 only writes the stacks.
    """
    process.attempt.folder.mkdir(parents=True, exist_ok=True)
    _redirect(process.attempt.rank_log(process.rank))
    _die_with_parent()
    faulthandler.enable(all_threads=True)
    stacks = process.attempt.stack(process.rank).open("a", encoding="utf-8")
    faulthandler.register(signal.SIGTERM, file=stacks, all_threads=True, chain=True)
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True, chain=False)


def finish(process: RankProcess, work: Callable[[], None]) -> NoReturn:
    """Do `work`, then end this process: an exception is written to the error file and exits 1.

    The exit skips the interpreter's teardown after a failure: other ranks may be gone, and
    closing a process group would wait for them.
    """
    code = exit_codes.OK
    try:
        work()
    except KeyboardInterrupt:
        code = exit_codes.INTERRUPTED
    except SystemExit as stop:
        code = _exit_code(stop)
        if code != exit_codes.OK:
            _record(process, stop)
    except BaseException as error:
        code = exit_codes.FOUND
        _record(process, error)
    _flush()
    if code != exit_codes.OK:
        os._exit(code)
    raise SystemExit(code)


def _record(process: RankProcess, error: BaseException) -> None:
    traceback.print_exception(error)
    with contextlib.suppress(OSError):
        write_failure(process.attempt.error(process.rank), process.rank, error)


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return exit_codes.OK
    return stop.code if isinstance(stop.code, int) else exit_codes.FOUND


def _redirect(log: Path) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    _flush()
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]


def _die_with_parent() -> None:
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent != os.getppid():
        os._exit(exit_codes.FOUND)


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
