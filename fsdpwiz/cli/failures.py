"""Whatever ends a command early, as findings and an exit code."""

from __future__ import annotations

from collections.abc import Iterable

from fsdpwiz.core import exit_codes
from fsdpwiz.core.errors import FsdpwizError, ProblemError
from fsdpwiz.core.findings import Finding
from fsdpwiz.core.problem import Problem

USAGE = "S020"
SYSTEM_CALL = "S030"
INTERNAL = "S031"


def exit_code(findings: Iterable[Finding], *, strict: bool = False) -> int:
    """0 without an error, 2 where an error's rule says that nothing could be judged, else 1."""
    counted = {"error", "warning"} if strict else {"error"}
    codes = {finding.code for finding in findings if finding.severity in counted}
    if not codes:
        return exit_codes.OK
    return exit_codes.NOT_JUDGED if any(_leaves_nothing(code) for code in codes) else exit_codes.FOUND


def failure_findings(error: BaseException) -> tuple[Finding, ...]:
    """The findings of an exception that ended a command."""
    if isinstance(error, FsdpwizError):
        return error.findings
    if isinstance(error, ProblemError):
        return (word(error.problem),)
    if isinstance(error, OSError):
        detail = {"message": error.strerror or str(error), "path": str(error.filename or "")}
        return (word(Problem(code=SYSTEM_CALL, file=detail["path"] or None, detail=detail)),)
    detail = {"message": str(error), "type": type(error).__name__}
    return (word(Problem(code=INTERNAL, detail=detail)),)


def failure_exit_code(error: BaseException, findings: Iterable[Finding]) -> int:
    """Our own errors go by their findings; anything unforeseen leaves nothing judged."""
    if isinstance(error, (FsdpwizError, ProblemError)):
        return exit_code(findings) or exit_codes.FOUND
    return exit_codes.NOT_JUDGED


def usage_finding(message: str, command: str) -> Finding:
    """The finding of a command line that could not be read."""
    return word(Problem(code=USAGE, detail={"message": message, "command": command}))


def word(problem: Problem) -> Finding:
    """`problem` as a finding; one whose rule is missing or broken still says what is known."""
    try:
        from fsdpwiz.rules import engine

        return engine.word(problem)
    except Exception:
        return Finding(
            code=problem.code,
            name="unworded",
            severity="error",
            message=str(problem.detail.get("message") or dict(problem.detail) or problem.code),
            file=problem.file,
            line=problem.line,
            key=problem.key,
        )


def _leaves_nothing(code: str) -> bool:
    if code in (USAGE, SYSTEM_CALL, INTERNAL):
        return True
    try:
        from fsdpwiz.rules.catalogue import rules

        rule = rules().get(code)
    except Exception:
        return False
    return getattr(rule, "exit", exit_codes.FOUND) == exit_codes.NOT_JUDGED
