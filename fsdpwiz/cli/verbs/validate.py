"""Check recipes: all that is wrong with them, before a run."""

from __future__ import annotations

import functools
import re
from difflib import get_close_matches
from typing import Annotated

import typer

from fsdpwiz.cli.completion import codes, recipes
from fsdpwiz.cli.failures import failure_findings
from fsdpwiz.cli.options import StrictOption
from fsdpwiz.cli.output import out
from fsdpwiz.cli.pipeline import RuleChoice, prepare
from fsdpwiz.core import exit_codes
from fsdpwiz.core.errors import ProblemError
from fsdpwiz.core.findings import SEVERITIES, Finding
from fsdpwiz.rules.catalogue import modules
from fsdpwiz.rules.report import Report, exit_code

_OVERRIDE = re.compile(r"[A-Za-z_]\w*(\.[\w-]+)*=")
_NEAR = 0.5
_COMPARED = 50


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="RECIPE... [SECTION.KEY=VALUE]...",
            help="Recipes by path or name; `sft.max_steps=10` overrides a key of all of them.",
            autocompletion=recipes,
            show_default=False,
        ),
    ],
    strict: StrictOption = False,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Only these rules (may be given again).", autocompletion=codes),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="Not these rules (may be given again).", autocompletion=codes),
    ] = None,
) -> int:
    """Check recipes and say what is wrong, where, and what to do about it."""
    overrides = [word for word in files if _OVERRIDE.match(word)]
    references = [word for word in files if not _OVERRIDE.match(word)]
    if not references:
        raise typer.BadParameter("no recipe to check")
    for option, given in (("--select", select), ("--ignore", ignore)):
        _check_codes(option, split_codes(given))
    choice = RuleChoice(select=split_codes(select), ignore=split_codes(ignore))
    judged: list[Report] = []
    unjudged: list[Finding] = []
    for reference in references:
        try:
            judged.append(prepare(reference, overrides, verb="validate", choice=choice).report)
        except ProblemError as error:
            unjudged += failure_findings(error)
    return _answer(judged, unjudged, strict=strict)


def split_codes(values: list[str] | None) -> tuple[str, ...]:
    """Codes given once or more, each perhaps several with commas between."""
    return tuple(code.strip().upper() for value in values or () for code in value.split(",") if code.strip())


def _check_codes(option: str, codes: tuple[str, ...]) -> None:
    """Raise BadParameter for the first of `codes` that is no code, nor the beginning of one."""
    for code in codes:
        if not any(known.startswith(code) for known in modules()):
            near = get_close_matches(code, modules(), n=_COMPARED, cutoff=_NEAR)
            nearest = max(near, key=functools.partial(_shared_beginning, code), default=None)
            hint = f"; the nearest is `{nearest}`" if nearest else "; codes look like `S001`"
            raise typer.BadParameter(f"{option}: no rule has the code `{code}`{hint}")


def _shared_beginning(first: str, second: str) -> int:
    return sum(first.startswith(second[:length]) for length in range(1, len(second) + 1))


def _answer(judged: list[Report], unjudged: list[Finding], *, strict: bool) -> int:
    findings = [*unjudged, *(finding for report in judged for finding in report.findings)]
    if out.json:
        out.document(_document(judged, findings))
    out.findings(findings, to="stdout")
    for code, reason in (pair for report in judged for pair in report.skipped):
        out.detail(f"skipped {code}: {reason}")
    out.note(_summary(judged, unjudged, findings))
    if judged and unjudged:
        return exit_codes.FOUND
    return exit_code(findings, strict=strict)


def _document(judged: list[Report], findings: list[Finding]) -> dict[str, object]:
    skipped = [pair for report in judged for pair in report.skipped]
    ignored = [pair for report in judged for pair in report.ignored]
    return {
        "findings": [finding.to_json() for finding in findings],
        "counts": {
            "found": len(findings),
            "passed": sum(len(report.passed) for report in judged),
            "skipped": len(skipped),
            "ignored": len(ignored),
            "crashed": sum(len(report.crashed) for report in judged),
        },
        "skipped": [{"code": code, "reason": reason} for code, reason in skipped],
        "ignored": [{"code": code, "reason": reason} for code, reason in ignored],
    }


def _summary(judged: list[Report], unjudged: list[Finding], findings: list[Finding]) -> str:
    counted = [
        (sum(finding.severity == severity for finding in findings), severity) for severity in SEVERITIES
    ]
    found = ", ".join(f"{count} {severity}{_plural(count, severity)}" for count, severity in counted if count)
    passed = sum(len(report.passed) for report in judged)
    skipped = sum(len(report.skipped) for report in judged)
    checks = f"{passed} checks passed, {skipped} skipped for want of a fact"
    recipes_count = len(judged) + len(unjudged)
    return f"{recipes_count} recipe{'s' if recipes_count != 1 else ''}: {found or 'no findings'}; {checks}"


def _plural(count: int, severity: str) -> str:
    return "s" if count != 1 and severity != "info" else ""
