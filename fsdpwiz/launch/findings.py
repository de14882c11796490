"""What can end a launch, as findings."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from fsdpwiz.core.findings import SEVERITIES, Excerpt, Finding, Severity
from fsdpwiz.core.problem import Problem
from fsdpwiz.core.secrets import redact
from fsdpwiz.core.text import visible
from fsdpwiz.launch.failure import Failure
from fsdpwiz.launch.space import Shortage
from fsdpwiz.rules.engine import word

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_MESSAGE_CHARACTERS = 2000
_TRACEBACK_CHARACTERS = 20_000


def of_failure(failure: Failure | None, exit_code: int) -> Finding:
    """The finding of an attempt's first failure; its traceback is the evidence."""
    if failure is None:
        return word(Problem(code="P022", detail={"exit_code": exit_code}))
    if failure.finding is not None:
        return written(failure.finding, failure.rank)
    log = None if failure.log is None else str(failure.log)
    detail: dict[str, Any] = {"rank": failure.rank, "log": log, "message": failure.message}
    if failure.rank is None:
        return word(Problem(code="P022", detail={**detail, "exit_code": exit_code}))
    if failure.signal_name is not None and not failure.traceback:
        return word(Problem(code="P021", detail={**detail, "signal": failure.signal_name}))
    finding = word(Problem(code="P020", detail={**detail, "secondary": failure.secondary}))
    return replace(finding, evidence=_evidence(failure))


def of_os_error(error: OSError, path: Path) -> Finding:
    """The finding of a run folder that could not be made or filled: P003 no space, else P004."""
    reason = error.strerror or str(error)
    place = str(error.filename or path)
    code = "P003" if error.errno in _FULL else "P004"
    return word(Problem(code=code, key="output_dir", detail={"path": place, "reason": reason}))


def of_shortage(shortage: Shortage, failure: Failure | None) -> Finding:
    """The finding of an attempt that ran out of disk space."""
    detail: dict[str, Any] = {
        "path": str(shortage.path),
        "free_bytes": shortage.free_bytes,
        "total_bytes": shortage.total_bytes,
        "full": shortage.full,
        "no_inodes": shortage.no_inodes,
        "reason": shortage.said,
    }
    finding = word(Problem(code="P003", key="output_dir", detail=detail))
    if failure is None or failure.rank is None:
        return finding
    return replace(finding, rank=failure.rank, evidence=(*finding.evidence, *_evidence(failure)))


def _evidence(failure: Failure) -> tuple[Excerpt, ...]:
    if not failure.traceback:
        return ()
    text = redact(visible(failure.traceback[-_TRACEBACK_CHARACTERS:]))
    return (Excerpt(source=f"error-{failure.rank}.json", line=None, text=text),)


def written(document: Mapping[str, Any], rank: int | None) -> Finding:
    """The finding that a rank wrote into a file, which may hold anything."""

    def text(key: str) -> str | None:
        value = document.get(key)
        return redact(visible(value, limit=_MESSAGE_CHARACTERS)) if isinstance(value, str) else None

    severity = document.get("severity")
    line = document.get("line")
    return Finding(
        code=text("code") or "P020",
        name=text("name") or "rank-failed",
        severity=cast(Severity, severity) if severity in SEVERITIES else "error",
        message=text("message") or "no message",
        file=text("file"),
        line=line if isinstance(line, int) else None,
        key=text("key"),
        rank=rank,
    )
