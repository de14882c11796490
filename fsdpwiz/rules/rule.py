"""What a rule is: a module SUBJECT/CODE_name.py with NAME, SEVERITY, a page, and `word` or `check`.

A rule module has

- a docstring: its `explain` page; the first line is its title, then come the headings What, Why, Example,
  How to fix, When to ignore, References;
- `NAME`: kebab-case, describes the fault, never the remedy;
- `SEVERITY`: "error", "warning" or "info" (`Found.severity` may override it per occurrence);
- optionally `SEVERITY_UNLESS_RUN`: the severity for every verb but `run`, for what only a launch harms;
- optionally `EXIT = 2` where the fault leaves nothing to judge;
- optionally `STAGE`, "training" or "command", where a check cannot see the fault but the run or the command
  itself meets it: a check then leaves the rule out;
- `word(problem)`: gives the `Found` of a problem with the rule's code that reading or resolving met;
- `check(...)`: yields `Found`. Its parameter names are the facts it needs, out of `subject.NAMES`; where
  one of them is None the rule is skipped with the reason. A parameter annotated `X | None` may be None.
  A check that cannot judge by what its facts hold raises `NotJudged` with the reason, and is skipped so;
  what it found before stands. Problems of the rule's code take the place of its check.

A rule is pure: no disk, clock, environment or logging.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fsdpwiz.core.findings import Excerpt, Fix, Quantity, Severity
from fsdpwiz.core.problem import Problem


class NotJudged(Exception):  # noqa: N818 - no error
    """Raised by a check that lacks what it would judge; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One occurrence of a rule's fault; the engine adds code, name, severity, file and line.

    `key` is the dotted recipe key; file and line follow from it unless given.
    """

    message: str
    key: str | None = None
    severity: Severity | None = None
    file: str | None = None
    line: int | None = None
    host: str | None = None
    rank: int | None = None
    gpu: int | None = None
    confidence: float = 1.0
    evidence: tuple[Quantity | Excerpt, ...] = ()
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A fact that a rule's check asks for; an optional one may be None."""

    name: str
    optional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule module, read."""

    code: str
    name: str
    severity: Severity
    severity_unless_run: Severity | None
    exit_code: int | None
    stage: str
    page: str
    parameters: tuple[Parameter, ...]
    word: Callable[[Problem], Found] | None
    check: Callable[..., Iterable[Found]] | None

    def severity_for(self, verb: str) -> Severity:
        """The severity of an occurrence that gives none of its own; without a verb that of a run."""
        return (
            self.severity if verb in ("run", "") or not self.severity_unless_run else self.severity_unless_run
        )
