"""The outcome of a check: its findings, what passed, and what was not judged and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fsdpwiz.core import exit_codes
from fsdpwiz.core.findings import Finding
from fsdpwiz.rules import catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Findings sorted, worst first; codes that passed or crashed; (code, reason) of the rest."""

    findings: tuple[Finding, ...] = ()
    passed: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    crashed: tuple[str, ...] = ()

    def exit_code(self, *, strict: bool = False) -> int:
        """The exit code of a command whose report this is."""
        return exit_code(self.findings, strict=strict)

    def to_json(self) -> dict[str, Any]:
        """The document of `validate --json`."""
        return {
            "schema": 1,
            "findings": [finding.to_json() for finding in self.findings],
            "counts": {
                "found": len(self.findings),
                "passed": len(self.passed),
                "skipped": len(self.skipped),
                "ignored": len(self.ignored),
                "crashed": len(self.crashed),
            },
            "skipped": [{"code": code, "reason": reason} for code, reason in self.skipped],
            "ignored": [{"code": code, "reason": reason} for code, reason in self.ignored],
        }


def exit_code(findings: Iterable[Finding], *, strict: bool = False) -> int:
    """0 without an error, 2 where an error leaves nothing to judge, else 1; strict: warnings are errors."""
    code = exit_codes.OK
    for finding in findings:
        if finding.severity == "error" and _leaves_nothing(finding.code):
            return exit_codes.NOT_JUDGED
        if finding.severity == "error" or (strict and finding.severity == "warning"):
            code = exit_codes.FOUND
    return code


def _leaves_nothing(code: str) -> bool:
    try:
        return catalogue.rule(code).exit_code == exit_codes.NOT_JUDGED
    except (KeyError, catalogue.BrokenRuleError):
        return False


@dataclass(slots=True, kw_only=True)
class Tally:
    """A report in the making; `reasons` maps ignored codes or prefixes to their reasons."""

    reasons: Mapping[str, str]
    _findings: list[Finding] = field(default_factory=list)
    _passed: list[str] = field(default_factory=list)
    _skipped: list[tuple[str, str]] = field(default_factory=list)
    _ignored: list[tuple[str, str]] = field(default_factory=list)
    _crashed: list[str] = field(default_factory=list)

    def found(self, code: str, findings: list[Finding]) -> None:
        """A rule gave these findings; with none it passed."""
        reason = self._reason(code)
        kept = (
            findings if reason is None else [finding for finding in findings if _cannot_be_ignored(finding)]
        )
        self._findings += kept
        if reason is not None and len(kept) < len(findings):
            self._ignored.append((code, reason))
        elif not findings:
            self._passed.append(code)

    def skipped(self, code: str, reason: str) -> None:
        """A rule lacked a fact."""
        self._skipped.append((code, reason))

    def crashed(self, code: str, findings: list[Finding]) -> None:
        """A rule raised; whoever ignores it hears nothing of that either."""
        reason = self._reason(code)
        if reason is not None and len(findings) == 1:
            self._ignored.append((code, reason))
            return
        self._crashed.append(code)
        self._findings += findings

    def report(self, sort_key: Callable[[Finding], Any]) -> Report:
        """The finished report."""
        return Report(
            findings=tuple(sorted(self._findings, key=sort_key)),
            passed=tuple(self._passed),
            skipped=tuple(self._skipped),
            ignored=tuple(self._ignored),
            crashed=tuple(self._crashed),
        )

    def _reason(self, code: str) -> str | None:
        prefixes = sorted((prefix for prefix in self.reasons if prefix and code.startswith(prefix)), key=len)
        return self.reasons[prefixes[-1]] if prefixes else None


def _cannot_be_ignored(finding: Finding) -> bool:
    return finding.code.startswith("S") and finding.severity == "error"
