"""Run the rules over a subject: findings, and for each rule without one whether it passed or why not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from fsdpwiz.core.findings import Finding
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules import catalogue
from fsdpwiz.rules.place import finding, sort_key
from fsdpwiz.rules.report import Report, Tally
from fsdpwiz.rules.rule import Found, NotJudged, Rule
from fsdpwiz.rules.subject import Subject

_CRASHED = "S099"
_NOTHING: Mapping[str, str] = MappingProxyType({})


def check(
    subject: Subject, *, ignore: Mapping[str, str] = _NOTHING, select: Collection[str] | None = None
) -> Report:
    """Judge `subject` by every rule, or by those whose code begins with one of `select`.

    `ignore` maps codes or prefixes to reasons and is added to the recipe's own `ignore`.
    """
    reasons = {**_ignored_by_recipe(subject), **ignore}
    tally = Tally(reasons=reasons)
    problems = subject.all_problems()
    for code in catalogue.modules():
        if _selected(code, select):
            _judge(code, subject, [problem for problem in problems if problem.code == code], tally)
    for problem in problems:
        if problem.code not in catalogue.modules() and _selected(problem.code, select):
            tally.found(problem.code, [word(problem, subject=subject)])
    return tally.report(sort_key)


def word(problem: Problem, *, subject: Subject | None = None, verb: str = "") -> Finding:
    """The finding of one problem, worded by the rule of its code; never raises."""
    subject = subject or Subject(verb=verb)
    try:
        rule = catalogue.rule(problem.code)
        if rule.word is None:
            return finding(rule, _unworded(problem), subject, problem)
        return finding(rule, rule.word(problem), subject, problem)
    except Exception:
        return _fallback(problem)


def _judge(code: str, subject: Subject, problems: list[Problem], tally: Tally) -> None:
    try:
        rule = catalogue.rule(code)
        if rule.stage != "check" and not problems:
            return
        missing = _missing(rule, subject)
        if problems:
            tally.found(code, _worded(rule, problems, subject))
        elif missing:
            tally.skipped(code, missing)
        else:
            _check(rule, subject, tally)
    except Exception as error:
        crash = Problem(code=_CRASHED, detail={"code": code, "error": f"{type(error).__name__}: {error}"})
        tally.crashed(code, [word(crash), *(_fallback(problem) for problem in problems)])


def _worded(rule: Rule, problems: list[Problem], subject: Subject) -> list[Finding]:
    wording = rule.word or _unworded
    return [finding(rule, wording(problem), subject, problem) for problem in problems]


def _check(rule: Rule, subject: Subject, tally: Tally) -> None:
    arguments = {parameter.name: subject.part(parameter.name) for parameter in rule.parameters}
    findings: list[Finding] = []
    try:
        found = (rule.check(**arguments) if rule.check is not None else None) or ()
        findings.extend(finding(rule, one, subject) for one in found)
    except NotJudged as reason:
        if not findings:
            tally.skipped(rule.code, str(reason))
            return
    tally.found(rule.code, findings)


def _missing(rule: Rule, subject: Subject) -> str | None:
    for parameter in rule.parameters:
        if not parameter.optional and subject.part(parameter.name) is None:
            return subject.reason(parameter.name)
    return None


def _selected(code: str, select: Collection[str] | None) -> bool:
    return select is None or any(code.startswith(prefix) for prefix in select)


def _ignored_by_recipe(subject: Subject) -> dict[str, str]:
    given = subject.recipe.value("ignore") if subject.recipe else None
    if not isinstance(given, Mapping):
        return {}
    return {str(code): str(reason) for code, reason in given.items()}


def _unworded(problem: Problem) -> Found:
    particulars = ", ".join(f"{name} {value!r}" for name, value in problem.detail.items())
    return Found(
        message=f"`{problem.key or problem.code}` is at fault" + (f": {particulars}" if particulars else "")
    )


def _fallback(problem: Problem) -> Finding:
    return Finding(
        code=problem.code,
        name="undescribed-fault",
        severity="error",
        message=_unworded(problem).message,
        file=problem.file,
        line=problem.line,
        key=problem.key,
    )
