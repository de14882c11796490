"""Whatever ends a command early, as findings and an exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fsdpwiz.core import exit_codes
from fsdpwiz.core.errors import FsdpwizError, ProblemError
from fsdpwiz.core.findings import Finding, Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.engine import word
from fsdpwiz.rules.report import exit_code

USAGE = "S020"
SYSTEM_CALL = "S030"
INTERNAL = "S031"


def failure_findings(error: BaseException) -> tuple[Finding, ...]:
    """The findings of an exception that ended a command."""
    if isinstance(error, FsdpwizError):
        return error.findings
    return (word(_problem(error)),)


def failure_exit_code(findings: Iterable[Finding]) -> int:
    """The exit code of a command that `findings` ended: 2 where one leaves nothing judged, else 1."""
    return exit_code(findings) or exit_codes.FOUND


def usage_finding(message: str, command: str) -> Finding:
    """The finding of a command line that could not be read; `command` is as far as it could be."""
    finding = word(Problem(code=USAGE, detail={"message": message, "command": command}))
    fix = Fix(title="see what it takes", commands=(f"{command} --help",))
    return replace(finding, fixes=(*finding.fixes, fix))


def _problem(error: BaseException) -> Problem:
    if isinstance(error, ProblemError):
        return error.problem
    if isinstance(error, OSError):
        path = str(error.filename or "")
        return Problem(
            code=SYSTEM_CALL,
            file=path or None,
            detail={"message": error.strerror or str(error), "path": path},
        )
    return Problem(code=INTERNAL, detail={"message": str(error), "type": type(error).__name__})
