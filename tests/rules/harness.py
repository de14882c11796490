"""Rule cases as data: cases/CODE.yaml is a list of cases.

    - case: what it shows                        # its name
      verb: run                                  # validate where left out
      recipe: {fsdp: {version: 1}}               # over a model and data; or text, taken as it stands
      overrides: ["sft.max_steps=1"]
      facts: {gpus: {cards: [{name: H100}]}}     # records of facts.types, `source` measured where left out
      problem: {key: a.b, detail: {}}            # a problem of this code instead of a recipe's own
      finds: [{key: a.b, severity: error, line: 3, message: part, fixed: true}]
      skips: part of the reason

Without `finds` and `skips` the rule must pass. `fixed: true` applies the finding's first fix and
expects the finding gone.
"""

from __future__ import annotations

import io
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.core.findings import Finding, Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Facts
from fsdpwiz.plan.resolve import resolve
from fsdpwiz.recipe.load import read_recipe
from fsdpwiz.rules.engine import check, word
from fsdpwiz.rules.report import Report
from fsdpwiz.rules.subject import Subject

CASES = Path(__file__).parent / "cases"
_BASE = {"model": {"name_or_path": "owner/model"}, "data": {"name_or_path": "owner/data"}}


@dataclass(frozen=True, kw_only=True)
class Case:
    code: str
    case: str
    verb: str = "validate"
    recipe: Any = None
    overrides: tuple[str, ...] = ()
    facts: Mapping[str, Any] | None = None
    problem: Mapping[str, Any] | None = None
    finds: tuple[Mapping[str, Any], ...] = ()
    skips: str | None = None
    more: bool = False

    def __str__(self) -> str:
        return f"{self.code}: {self.case}"


def cases() -> list[Case]:
    return [case for path in sorted(CASES.glob("*.yaml")) for case in _cases_of(path)]


def _cases_of(path: Path) -> Iterator[Case]:
    for entry in YAML(typ="safe").load(path.read_text(encoding="utf-8")):
        yield Case(**{**entry, "code": path.stem, "finds": tuple(entry.get("finds", ()))})


def report_of(case: Case) -> Report:
    """The report of the case's rule alone."""
    if case.problem is not None:
        problem = Problem(code=case.code, **case.problem)
        return Report(findings=(word(problem, verb=case.verb),))
    try:
        recipe = read_recipe(recipe_text(case.recipe), case.overrides, path=Path("recipe.yaml"))
    except ProblemError as error:
        return Report(findings=(word(error.problem),))
    facts = build(Facts, dict(case.facts or {}))
    plan, problems = resolve(recipe, facts)
    subject = Subject(verb=case.verb, recipe=recipe, plan=plan, problems=problems, facts=facts)
    return check(subject, select=[case.code])


def recipe_text(recipe: Any) -> str:
    if isinstance(recipe, str):
        return recipe
    stream = io.StringIO()
    YAML(typ="safe").dump(_over(_BASE, recipe or {}), stream)
    return stream.getvalue()


def fixed(case: Case, fix: Fix) -> Case:
    """The case with the fix's edits made in its recipe; it must be a mapping or plain YAML text."""
    settings = case.recipe if not isinstance(case.recipe, str) else YAML(typ="safe").load(case.recipe)
    settings = _over(_BASE, settings or {})
    for key, value in fix.edits.items():
        _edit(settings, key.split("."), value)
    return replace(case, recipe=settings)


def _edit(settings: dict[str, Any], path: list[str], value: Any) -> None:
    *parents, name = path
    for parent in parents:
        if not isinstance(settings.get(parent), dict):
            settings[parent] = {}
        settings = settings[parent]
    if value is None:
        settings.pop(name, None)
    else:
        settings[name] = value


def _over(base: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """`given` over `base`, section by section."""
    both = {**base, **given}
    for name, value in base.items():
        if isinstance(value, Mapping) and isinstance(given.get(name), Mapping):
            both[name] = {**value, **given[name]}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in both.items()}


def build(kind: Any, value: Any) -> Any:
    """A record of `kind`, or whatever the annotation says, from plain values."""
    if value is None:
        return None
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        given = {name: build(hints[name], inner) for name, inner in value.items()}
        return kind(**{**_defaults(kind), **given})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return build(next(one for one in arguments if one is not type(None)), value)
    if origin is tuple:
        return tuple(build(arguments[0], inner) for inner in value)
    if origin is frozenset:
        return frozenset(value)
    return Path(value) if kind is Path else value


def _defaults(kind: Any) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    known: dict[str, Any] = {
        "source": "measured",
        "index": 0,
        "memory_bytes": 80_000_000_000,
        "name": "a card",
    }
    known |= {"cores": 8, "path": Path("/somewhere"), "where": "folder", "architecture": None, "config": {}}
    known |= {
        "layer_classes": None,
        "has_weights": True,
        "versions": {},
        "python": "3.11.9",
        "writable": True,
    }
    return {name: value for name, value in known.items() if name in names and kind is not Facts}


def matches(finding: Finding, expected: Mapping[str, Any]) -> list[str]:
    """What of `expected` the finding does not have."""
    wrong = []
    for name, value in expected.items():
        if name == "message":
            if value not in finding.message:
                wrong.append(f"message lacks {value!r}: {finding.message!r}")
        elif name != "fixed" and getattr(finding, name) != value:
            wrong.append(f"{name} is {getattr(finding, name)!r}, not {value!r}")
    return wrong
