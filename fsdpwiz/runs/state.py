"""What a run is doing, read off its records, the clock and the launchers' processes.

`status.json` is a view of that, written anew by whichever command looks; nothing reads it to decide.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

from fsdpwiz.core import atomic
from fsdpwiz.runs import records
from fsdpwiz.runs.layout import Attempt, RunFolder

StateName = Literal["created", "queued", "running", "stopping", "requeued", "finished", "failed", "cancelled"]
OPEN: frozenset[StateName] = frozenset({"queued", "running", "stopping"})
_PRECEDENCE: tuple[StateName, ...] = ("cancelled", "failed", "stopping", "requeued", "running")
SILENCE_LIMIT_S = 900.0
_START_TOLERANCE_S = 2.0
_TAIL_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One run's state, the document of status.json.

    `pid` and `host` are those of the launcher of node 0, `exit_code` is the training's own
    (negative: a signal), `updated` the time of the newest record (unix seconds).
    """

    state: StateName = "created"
    attempt: int = 0
    step: int | None = None
    job_id: str | None = None
    pid: int | None = None
    host: str | None = None
    exit_code: int | None = None
    model: str | None = None
    updated: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def start_record() -> dict[str, Any]:
    """The record of a launcher that starts in this process: which process on which host it is."""
    process = psutil.Process()
    return {
        "event": "start",
        "host": socket.gethostname(),
        "pid": process.pid,
        "process_started": round(process.create_time(), 2),
    }


def is_alive(start: Mapping[str, Any]) -> bool | None:
    """Whether the process of a start record lives; None where it is another host's."""
    if start.get("host") != socket.gethostname():
        return None
    pid = records.number(start.get("pid"))
    if pid is None or not 0 < pid < 2**31:
        return False
    try:
        process = psutil.Process(int(pid))
        created = records.number(start.get("process_started"))
        same = created is None or abs(process.create_time() - created) < _START_TOLERANCE_S
        return bool(same and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


def last_attempt(run: RunFolder) -> int:
    """The number of the latest attempt, 0 before the first."""
    try:
        names = [entry.name for entry in run.attempts.iterdir() if entry.is_dir()]
    except OSError:
        return 0
    return max((int(name) for name in names if name.isascii() and name.isdecimal()), default=0)


def launcher_records(attempt: Attempt) -> dict[str, list[dict[str, Any]]]:
    """The records of every launcher of an attempt, by what stands for K in launch-K.jsonl."""
    found = {}
    for path in sorted(attempt.folder.glob("launch-*.jsonl")):
        found[path.stem.removeprefix("launch-")] = records.read(path)
    return found


def read_state(
    run: RunFolder,
    *,
    now: float | None = None,
    alive: Callable[[Mapping[str, Any]], bool | None] = is_alive,
) -> State:
    """The state of a run; `alive` says whether the process of a start record lives."""
    number = last_attempt(run)
    if number == 0:
        return State()
    attempt = run.attempt(number)
    by_launcher = launcher_records(attempt)
    latest = _latest_events(attempt)
    every = [record for found in by_launcher.values() for record in found]
    first_node = by_launcher.get("0", [])
    start = _last(first_node, "start") or _last(every, "start") or {}
    quiet_s = _quiet_s(latest, time.time() if now is None else now)
    return State(
        state=_state(by_launcher, quiet_s, alive),
        attempt=number,
        step=_step(latest),
        job_id=_text(_value(every, "submitted", "job_id")),
        pid=start.get("pid") if isinstance(start.get("pid"), int) else None,
        host=_text(start.get("host")),
        exit_code=_exit_code(every),
        model=_text(_value(every, "exported", "model")),
        updated=max(filter(None, map(_time, [*every, *latest])), default=None),
    )


def write_status(run: RunFolder) -> State:
    """Rebuild status.json; returns the state that it now shows. Raises OSError."""
    state = read_state(run)
    atomic.write_text(run.status, json.dumps(state.to_json(), indent=2) + "\n", mode=0o600)
    return state


def _state(
    by_launcher: Mapping[str, list[dict[str, Any]]],
    quiet_s: float | None,
    alive: Callable[[Mapping[str, Any]], bool | None],
) -> StateName:
    each = [launcher_state(found, quiet_s, alive) for found in by_launcher.values()]
    for state in _PRECEDENCE:
        if state in each:
            return state
    if "finished" in each:
        every = [record for found in by_launcher.values() for record in found]
        return "finished" if _last(every, "exported") or not _expects_model(every) else "failed"
    return "queued" if "queued" in each else "created"


def launcher_state(
    found: list[dict[str, Any]],
    quiet_s: float | None = None,
    alive: Callable[[Mapping[str, Any]], bool | None] = is_alive,
) -> StateName:
    """The state of one launcher by its records; `quiet_s`: how long no rank has reported."""
    events = [record.get("event") for record in found]
    if "cancelled" in events:
        return "cancelled"
    for record in reversed(found):
        if record.get("event") == "end":
            return "finished" if record.get("exit_code") == 0 else "failed"
        if record.get("event") == "requeued":
            return "requeued"
    start = _last(found, "start")
    if start is None:
        return "queued" if "submitted" in events else "created"
    lives = alive(start)
    if lives is False or (lives is None and quiet_s is not None and quiet_s > SILENCE_LIMIT_S):
        return "failed"
    return "stopping" if "stopping" in events else "running"


def _last(found: list[dict[str, Any]], event: str) -> dict[str, Any] | None:
    return next((record for record in reversed(found) if record.get("event") == event), None)


def _expects_model(every: list[dict[str, Any]]) -> bool:
    """A script of the user's own need not leave a model; its launcher says so."""
    return _value(every, "end", "expects_model") is not False


def _value(found: list[dict[str, Any]], event: str, key: str) -> Any:
    return (_last(found, event) or {}).get(key)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)[:4096]


def _time(record: Mapping[str, Any]) -> float | None:
    return records.number(record.get("time"))


def _exit_code(every: list[dict[str, Any]]) -> int | None:
    codes = [record.get("exit_code") for record in every if record.get("event") == "end"]
    numbers = [code for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    return next((code for code in numbers if code != 0), numbers[0] if numbers else None)


def _latest_events(attempt: Attempt) -> list[dict[str, Any]]:
    """The newest records of every rank's events."""
    found: list[dict[str, Any]] = []
    for path in attempt.folder.glob("events-*.jsonl"):
        found += _newest(path)
    return found


def _newest(path: Path) -> list[dict[str, Any]]:
    tail = records.Tail.at_end(path, _TAIL_BYTES)
    return [*tail.read(), *tail.rest()]


def _step(latest: list[dict[str, Any]]) -> int | None:
    steps = [record["step"] for record in latest if isinstance(record.get("step"), int)]
    return max(steps, default=None)


def _quiet_s(latest: list[dict[str, Any]], now: float) -> float | None:
    times = [time_s for time_s in map(_time, latest) if time_s is not None]
    return now - max(times) if times else None
