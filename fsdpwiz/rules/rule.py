"""What a rule is: a module named CODE_name.py with NAME, SEVERITY, a page and a check.

A rule module has

- a docstring: its `explain` page, with the headings What, Why, Example, How to fix, When to ignore,
  References;
- `NAME`: kebab-case, describes the fault, never the remedy;
- `SEVERITY`: "error", "warning" or "info" (`Found.severity` may override it per occurrence);
- optionally `EXIT = 2` where the fault leaves nothing to judge;
- `check(...)`: yields `Found`. Its parameter names are the facts it needs, out of `Subject`'s
  names and those of `Facts`; where one of them is None the rule is skipped with the reason.
  A parameter annotated `X | None` may be None. `problems` are the problems with the rule's code.

A rule is pure: no disk, clock, environment or logging.
"""

from __future__ import annotations

from dataclasses import dataclass

from fsdpwiz.core.findings import Excerpt, Fix, Quantity, Severity


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
