"""From a rule's `Found` to the finding with its code, severity and place."""

from __future__ import annotations

from fsdpwiz.core.findings import SEVERITIES, Excerpt, Finding, Quantity
from fsdpwiz.core.origin import Origin
from fsdpwiz.core.problem import Problem
from fsdpwiz.core.secrets import redact
from fsdpwiz.core.text import visible
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found, Rule
from fsdpwiz.rules.subject import Subject

_MESSAGE_LIMIT_CHARACTERS = 2000


def finding(rule: Rule, found: Found, subject: Subject, problem: Problem | None = None) -> Finding:
    """The finding of one occurrence; a problem's key, file and line count where `found` gives none."""
    key = found.key or (problem.key if problem else None)
    file, line = found.file, found.line
    if file is None and line is None:
        file, line = _place(key, problem, subject.recipe)
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=found.severity or rule.severity_for(subject.verb),
        message=_safe(found.message),
        confidence=found.confidence,
        file=visible(file) if file else None,
        line=line,
        key=visible(key) if key else None,
        host=found.host,
        rank=found.rank,
        gpu=found.gpu,
        evidence=tuple(_safe_evidence(item) for item in found.evidence),
        fixes=found.fixes,
        on_command_line=file is None and _of_command_line(key, problem, subject.recipe),
    )


def sort_key(item: Finding) -> tuple[int, str, int, str, str]:
    """Errors first, then by file and line; what has no line comes last."""
    line = item.line if item.line is not None else 1 << 30
    return SEVERITIES.index(item.severity), item.file or "", line, item.code, item.key or ""


def _place(key: str | None, problem: Problem | None, recipe: Recipe | None) -> tuple[str | None, int | None]:
    if problem is not None and (problem.file is not None or problem.line is not None):
        return problem.file, problem.line
    if recipe is None or key is None or (problem is not None and problem.detail.get("source") == "override"):
        return None, None
    origin = _nearest(key, recipe)
    if origin is not None:
        return origin.file, origin.line
    return (str(recipe.path) if recipe.path else None), None


def _of_command_line(key: str | None, problem: Problem | None, recipe: Recipe | None) -> bool:
    if problem is not None and problem.detail.get("source") == "override":
        return True
    origin = _nearest(key, recipe) if recipe is not None and key else None
    return origin is not None and origin.source == "override"


def _nearest(key: str, recipe: Recipe) -> Origin | None:
    while key:
        if key in recipe.origins:
            return recipe.origins[key]
        key = key.rpartition(".")[0]
    return None


def _safe_evidence(item: Quantity | Excerpt) -> Quantity | Excerpt:
    if isinstance(item, Excerpt):
        return Excerpt(source=visible(item.source), line=item.line, text=_safe(item.text))
    return item


def _safe(text: str) -> str:
    return redact(visible(text, limit=_MESSAGE_LIMIT_CHARACTERS))
