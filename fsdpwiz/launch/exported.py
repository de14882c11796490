"""What rank 0 says of its export and of what it went on from: findings that did not fail the run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsdpwiz.core.findings import Finding
from fsdpwiz.core.text import visible
from fsdpwiz.launch.failure import read_document
from fsdpwiz.launch.findings import written
from fsdpwiz.runs import records
from fsdpwiz.runs.layout import Attempt

_ADDRESS_CHARACTERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """`pushed` is the address of the push, None where none was asked for or it failed."""

    pushed: str | None = None
    findings: tuple[Finding, ...] = ()


def read_exported(attempt: Attempt) -> Exported:
    """The export of an attempt as its rank 0 wrote it down; empty where it did not."""
    document = read_document(attempt.export) or {}
    pushed, findings = document.get("pushed"), document.get("findings")
    return Exported(
        pushed=visible(pushed, limit=_ADDRESS_CHARACTERS) if isinstance(pushed, str) else None,
        findings=tuple(written(item, 0) for item in findings if isinstance(item, dict))
        if isinstance(findings, list)
        else (),
    )


def read_noticed(attempt: Attempt) -> tuple[Finding, ...]:
    """What rank 0 noticed while the training went on: of each kind the last, and how many there were."""
    found: dict[str, list[Finding]] = {}
    for record in records.read(attempt.findings):
        finding = written(record, 0)
        found.setdefault(finding.code, []).append(finding)
    return tuple(_counted(findings) for findings in found.values())


def _counted(findings: list[Finding]) -> Finding:
    last = findings[-1]
    if len(findings) == 1:
        return last
    return replace(last, message=f"{last.message} ({len(findings)} such findings; this is the last)")


class Noticed:
    """Rank 0's findings as they come, for whoever follows the run."""

    def __init__(self, attempt: Attempt) -> None:
        self._tail = records.Tail(attempt.findings)

    def new(self) -> list[str]:
        """One line for each finding since the last call."""
        findings = (written(record, 0) for record in self._tail.read())
        return [f"{finding.severity} {finding.code} {finding.message}" for finding in findings]
