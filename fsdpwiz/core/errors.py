"""Failures that a user can act on: they carry findings instead of a traceback."""

from __future__ import annotations

from fsdpwiz.core.findings import Finding
from fsdpwiz.core.problem import Problem


class FsdpwizError(Exception):
    """A failure with findings; ends the command with exit code 1."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = findings


class ProblemError(Exception):
    """A problem that leaves nothing to go on with; the command words it by the problem's rule."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem
