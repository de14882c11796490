"""The launcher `local`: starts a run's ranks on this machine, follows them, and leaves none behind."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fsdpwiz.core.findings import Finding
from fsdpwiz.core.problem import Problem
from fsdpwiz.exec.interrupts import Interrupts
from fsdpwiz.exec.process import started
from fsdpwiz.exec.tree import FIRM, GENTLE, Tree
from fsdpwiz.launch import findings
from fsdpwiz.launch.display import Display
from fsdpwiz.launch.exported import Noticed, read_exported, read_noticed
from fsdpwiz.launch.failure import first_failure
from fsdpwiz.launch.follow import Follower, Progress
from fsdpwiz.launch.node import Node
from fsdpwiz.launch.peers import PEER_GRACE_S, Peers
from fsdpwiz.launch.space import shortage
from fsdpwiz.plan.types import Plan
from fsdpwiz.render.environment import launch_environment
from fsdpwiz.render.launch_command import launch_command
from fsdpwiz.rules.engine import word
from fsdpwiz.runs import records
from fsdpwiz.runs.create import FOLDER_MODE
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.runs.state import start_record, write_status

_TICK_S = 0.2
_STATUS_INTERVAL_S = 2.0
_INTERRUPTED_BY_SIGNAL = {"SIGINT": GENTLE, "SIGTERM": FIRM, "SIGHUP": FIRM}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt ended.

    `exit_code` is the training's own: that of the first rank that failed, else the launcher's.
    `traceback` is that rank's; `model` is the exported model, `pushed` where it was pushed to;
    `noticed` is what rank 0 found wrong and went on from; `survivors` are the ids of processes
    that even SIGKILL did not end.
    """

    state: Literal["finished", "failed", "cancelled"]
    exit_code: int
    seconds: float
    progress: Progress
    finding: Finding | None = None
    traceback: str = ""
    model: Path | None = None
    pushed: str | None = None
    noticed: tuple[Finding, ...] = ()
    survivors: tuple[int, ...] = ()


def command_for(plan: Plan, run: RunFolder, node: Node, *, python: str = sys.executable) -> list[str]:
    """The launch command of one node of a run."""
    return launch_command(
        plan,
        plan_path=run.plan,
        accelerate_path=run.accelerate,
        node_rank=node.rank,
        main_address=node.address,
        port=node.port,
        python=python,
    )


def run_local(
    plan: Plan,
    run: RunFolder,
    *,
    attempt: int,
    node: Node,
    display: Display,
    interrupts: Interrupts,
    environ: Mapping[str, str] | None = None,
    command: Sequence[str] | None = None,
) -> Outcome:
    """Launch an attempt of a run whose folder is filled, follow it to its end, and record how it ended.

    `command` takes the place of the plan's own launch command, `environ` of this process's environment.
    However this is left, no process it started is left behind. Raises OSError where the attempt's
    folder cannot be written or the launcher not be started.
    """
    launch = _Launch(plan, run, attempt, node)
    launch.begin()
    try:
        return _followed(launch, display, interrupts, environ=environ, command=command)
    except BaseException:
        launch.record("end", exit_code=1)
        launch.refresh_status()
        raise


def _followed(
    launch: _Launch,
    display: Display,
    interrupts: Interrupts,
    *,
    environ: Mapping[str, str] | None,
    command: Sequence[str] | None,
) -> Outcome:
    launch.refresh_status()
    environment = launch_environment(launch.plan, os.environ if environ is None else environ)
    environment["FSDPWIZ_ATTEMPT"] = str(launch.attempt.number)
    words = command or command_for(launch.plan, launch.run, launch.node)
    began = time.monotonic()
    try:
        with started(words, environ=environment, log=launch.attempt.launcher_log(launch.node.rank)) as tree:
            ending = launch.watch(tree, display, interrupts)
            survivors = tuple(process.pid for process in tree.end())
    finally:
        with contextlib.suppress(OSError, ValueError):
            display.close()
    return launch.conclude(ending, tree.child.returncode, time.monotonic() - began, survivors)


_Ending = Literal["by itself", "interrupted", "with its peers"]


class _Launch:
    """One node's part in one attempt."""

    def __init__(self, plan: Plan, run: RunFolder, attempt: int, node: Node) -> None:
        self.plan = plan
        self.run = run
        self.attempt = run.attempt(attempt)
        self.node = node
        self.follower = Follower(run, attempt, plan)
        self.noticed = Noticed(self.attempt)
        self.peers = Peers(self.attempt, plan, node)
        self._records = self.attempt.launch(node.rank)
        self._status_due_s = 0.0

    def begin(self) -> None:
        """The attempt's folder and this launcher's first record. Raises OSError."""
        for folder in (self.run.attempts, self.attempt.folder):
            folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        records.append(self._records, start_record(), sync=True)

    def record(self, event: str, **values: Any) -> None:
        """Append a record, where that is still possible."""
        with contextlib.suppress(OSError):
            records.append(self._records, {"event": event, **values}, sync=True)

    def refresh_status(self, *, every_s: float = 0.0) -> None:
        """Rebuild status.json, within `every_s` of the last time only if that is 0; it is only a view."""
        now = time.monotonic()
        if self.node.rank == 0 and (every_s == 0 or now >= self._status_due_s):
            self._status_due_s = now + every_s
            with contextlib.suppress(OSError):
                write_status(self.run)

    def watch(self, tree: Tree, display: Display, interrupts: Interrupts) -> _Ending:
        """Follow until the launcher ends, or is to be ended."""
        while tree.child.poll() is None:
            if interrupts.requested:
                self._stop(tree, interrupts)
                return "interrupted"
            if self.peers.gone_for_s() > PEER_GRACE_S:
                self.record("stopping", reason=f"node {self.peers.gone} is gone")
                tree.end(FIRM, hurried=lambda: interrupts.requested)
                return "with its peers"
            self._show(display)
            self.refresh_status(every_s=_STATUS_INTERVAL_S)
            time.sleep(_TICK_S)
        self._show(display)
        return "interrupted" if interrupts.requested else "by itself"

    def _show(self, display: Display) -> None:
        """A terminal that is gone is no reason to end a run."""
        with contextlib.suppress(OSError, ValueError):
            for line in self.noticed.new() if self.node.rank == 0 else ():
                display.say(line)
            display.show(self.follower.look())

    def _stop(self, tree: Tree, interrupts: Interrupts) -> None:
        name = interrupts.received[0].name
        self.record("stopping", signal=name)
        self.refresh_status()
        tree.end(_INTERRUPTED_BY_SIGNAL[name], hurried=lambda: interrupts.repeated)

    def conclude(self, ending: _Ending, code: int, seconds: float, survivors: tuple[int, ...]) -> Outcome:
        """Judge the attempt and write the records of its end."""
        progress = self.follower.look()
        peer_cancelled = self.peers.state() == "cancelled"
        if ending == "interrupted" or peer_cancelled:
            self.record("cancelled")
            outcome = Outcome(state="cancelled", exit_code=code, seconds=seconds, progress=progress)
        elif ending == "with its peers" or code != 0:
            outcome = self._failed(code, seconds, progress)
        else:
            outcome = self._ended(seconds, progress)
        self.record("end", exit_code=outcome.exit_code, launcher_exit_code=code, **self._expectation())
        self.refresh_status()
        return replace(outcome, survivors=survivors, noticed=read_noticed(self.attempt))

    def _failed(self, code: int, seconds: float, progress: Progress) -> Outcome:
        failure = first_failure(self.attempt, self.plan)
        own_code = failure.exit_code if failure is not None and failure.exit_code else code
        short = shortage(self.run, self.attempt, failure)
        finding = findings.of_failure(failure, code)
        if short is not None:
            finding = findings.of_shortage(short, failure)
        elif failure is None and self.peers.gone is not None:
            detail = {"node_rank": self.node.rank, "other": self.peers.gone, "how": "failed"}
            finding = word(Problem(code="P024", detail=detail))
        return Outcome(
            state="failed",
            exit_code=own_code or 1,
            seconds=seconds,
            progress=progress,
            finding=finding,
            traceback="" if failure is None or failure.finding is not None else failure.traceback,
        )

    def _ended(self, seconds: float, progress: Progress) -> Outcome:
        """Whether there is a model is for node 0 to judge: it may not be visible here yet."""
        model = self._model(progress)
        if model is None and self.plan.script is None and self.node.rank == 0:
            finding = word(Problem(code="P023", detail={"path": str(self.run.model)}))
            return Outcome(state="failed", exit_code=0, seconds=seconds, progress=progress, finding=finding)
        if model is not None and self.node.rank == 0:
            self.record("exported", model=model.name)
        exported = read_exported(self.attempt)
        return Outcome(
            state="finished",
            exit_code=0,
            seconds=seconds,
            progress=progress,
            finding=next(iter(exported.findings), None),
            model=model,
            pushed=exported.pushed,
        )

    def _model(self, progress: Progress) -> Path | None:
        """What rank 0 exported and verified in this attempt."""
        if not progress.exported:
            return None
        folders = (self.run.model, self.run.adapter)
        return next((folder for folder in folders if (folder / _sign(folder, self.run)).is_file()), None)

    def _expectation(self) -> dict[str, bool]:
        return {} if self.plan.script is None else {"expects_model": False}


def _sign(folder: Path, run: RunFolder) -> str:
    return "config.json" if folder == run.model else "adapter_config.json"
