"""Which rank failed first, and what it said itself.

Ranks write their own exceptions to error files. When one goes, the others fail in turn because
their peer is gone: such errors only count where nobody has a better one. A rank that a signal
killed wrote nothing; the launcher's log then has its exit code.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.layout import Attempt
from fsdpwiz.runs.records import number

_ERROR_FILE_LIMIT_BYTES = 2_000_000
_LOG_TAIL_BYTES = 262_144
_ERROR_NAME = re.compile(r"error-(\d{1,7})\.json")

_SECONDARY = re.compile(
    r"Connection closed by peer|Connection reset by peer|Broken pipe|Socket Timeout|unbound_buffer\.cc"
    r"|gloo/transport/tcp/pair\.cc|Timed out waiting \d+ms for (?:send|recv)"
    r"|NCCL communicator was aborted|ncclRemoteError|remote process exited"
    r"|Watchdog caught collective operation|DistBackendError|DistNetworkError|SignalException"
    r"|client socket has (?:failed|timed out)"
)
_ROOT_CAUSE = re.compile(r"Root Cause \(first observed failure\):")
_OBSERVED = re.compile(
    r"rank\s+: (?P<rank>\d+) \(local_rank: \d+\)\s+exitcode\s+: (?P<code>-?\d+) \(pid: \d+\)"
)
_FAILED = re.compile(r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local_rank>\d+) \(pid: \d+\)")
_DIED = re.compile(r"CalledProcessError: .* died with <Signals\.SIG\w+: (?P<signal>\d+)>")
_RETURNED = re.compile(r"CalledProcessError: .* returned non-zero exit status (?P<code>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The first failure of an attempt.

    `rank` is None where only the launcher failed. `exit_code` is the rank's own, negative for a
    signal, None where it is not known. `finding` is the document of the finding the rank wrote.
    `secondary`: the error only says that another rank was gone.
    """

    rank: int | None
    exit_code: int | None
    message: str
    traceback: str = ""
    finding: Mapping[str, Any] | None = None
    secondary: bool = False
    log: Path | None = None

    @property
    def signal_name(self) -> str | None:
        """The signal that killed the rank, e.g. "SIGKILL"."""
        if self.exit_code is None or self.exit_code >= 0:
            return None
        try:
            return signal.Signals(-self.exit_code).name
        except ValueError:
            return f"signal {-self.exit_code}"


def first_failure(attempt: Attempt, plan: Plan) -> Failure | None:
    """The failure that came first; None where neither a rank nor a launcher says a word."""
    written = sorted(_written(attempt), key=lambda item: item[0])
    own = [failure for _, failure in written if not failure.secondary]
    exit_codes = _launchers_word(attempt, plan)
    if own:
        return _with_code(own[0], exit_codes)
    killed = next((failure for failure in exit_codes if failure.signal_name), None)
    if killed is not None:
        return killed
    if written:
        return _with_code(written[0][1], exit_codes)
    return exit_codes[0] if exit_codes else _launcher_alone(attempt)


def _written(attempt: Attempt) -> list[tuple[float, Failure]]:
    """What ranks wrote themselves, with the time they wrote it."""
    found = []
    for path in attempt.folder.glob("error-*.json"):
        match = _ERROR_NAME.fullmatch(path.name)
        document = read_document(path) if match else None
        if match and document is not None:
            found.append(_failure(int(match.group(1)), document, attempt))
    return found


def _failure(rank: int, document: dict[str, Any], attempt: Attempt) -> tuple[float, Failure]:
    message = document.get("message")
    inner = message if isinstance(message, dict) else {"message": message}
    extra = inner.get("extraInfo")
    extra = extra if isinstance(extra, dict) else {}
    text = str(inner.get("message") or "")
    finding = document.get("finding")
    moment = number(document.get("time")) or number(extra.get("timestamp")) or float("inf")
    return moment, Failure(
        rank=rank,
        exit_code=None,
        message=text,
        traceback=str(extra.get("py_callstack") or ""),
        finding=finding if isinstance(finding, dict) else None,
        secondary=not isinstance(finding, dict) and bool(_SECONDARY.search(text)),
        log=attempt.rank_log(rank),
    )


def _launchers_word(attempt: Attempt, plan: Plan) -> list[Failure]:
    """What the launchers' logs say of exit codes, signals that end everything excepted."""
    found = []
    for node_rank in range(plan.world.nodes):
        text = tail_text(attempt.launcher_log(node_rank))
        for rank, code in _ranks_and_codes(text, node_rank * plan.world.ranks_per_node):
            if code not in (-signal.SIGTERM, -signal.SIGINT):
                log = attempt.rank_log(rank)
                found.append(Failure(rank=rank, exit_code=code, message=f"exit code {code}", log=log))
    return found


def _ranks_and_codes(text: str, first_rank: int) -> list[tuple[int, int]]:
    """What torchelastic observed, its root cause first: often that is a rank that lost its killed peer."""
    if (root := _ROOT_CAUSE.search(text)) is not None:
        causes, others = text[root.end() :], text[: root.start()]
        observed = [*_OBSERVED.finditer(causes), *_OBSERVED.finditer(others)]
        return [(int(match["rank"]), int(match["code"])) for match in observed]
    if match := _FAILED.search(text):
        return [(first_rank + int(match["local_rank"]), int(match["code"]))]
    if match := _DIED.search(text):
        return [(first_rank, -int(match["signal"]))]
    if match := _RETURNED.search(text):
        return [(first_rank, int(match["code"]))]
    return []


def _with_code(failure: Failure, exit_codes: list[Failure]) -> Failure:
    code = next((other.exit_code for other in exit_codes if other.rank == failure.rank), 1)
    return replace(failure, exit_code=code)


def _launcher_alone(attempt: Attempt) -> Failure | None:
    for path in sorted(attempt.folder.glob("launcher-*.log")):
        lines = [line for line in tail_text(path).splitlines() if line.strip()]
        if lines:
            return Failure(rank=None, exit_code=None, message=lines[-1].strip(), log=path)
    return None


def tail_text(path: Path, limit_bytes: int = _LOG_TAIL_BYTES) -> str:
    """The last part of a log as text; empty for what is not a regular file."""
    content = _bytes(path, limit_bytes)
    return "" if content is None else content.decode("utf-8", "replace")


def read_document(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file that a rank wrote; None for anything else."""
    content = _bytes(path, _ERROR_FILE_LIMIT_BYTES)
    try:
        document = json.loads(content or b"")
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _bytes(path: Path, limit_bytes: int) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        return os.pread(descriptor, limit_bytes, max(0, status.st_size - limit_bytes))
    except OSError:
        return None
    finally:
        os.close(descriptor)
