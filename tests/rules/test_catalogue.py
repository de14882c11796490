"""Every rule file is whole: code, name, page, cases, parameters."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import fsdpwiz
from fsdpwiz.core.findings import SEVERITIES
from fsdpwiz.rules.catalogue import broken, modules, rule, rules
from fsdpwiz.rules.pages import HEADINGS, page
from fsdpwiz.rules.rule import Rule
from fsdpwiz.rules.subject import NAMES
from tests.rules.harness import Case, cases

SOURCES = Path(fsdpwiz.__file__).parent
RULES = sorted(rules().values(), key=lambda known: known.code)
BY_CODE: dict[str, list[Case]] = {}
for one in cases():
    BY_CODE.setdefault(one.code, []).append(one)

RULE_FLOOR = 103
CASE_FLOOR = 290


def every_rule() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("known", RULES, ids=lambda known: known.code)


def test_every_file_loads() -> None:
    assert not broken()


def test_no_code_stands_in_two_files() -> None:
    files = [path.name[:4] for path in (SOURCES / "rules").glob("*/[A-Z][0-9][0-9][0-9]_*.py")]
    assert [code for code, count in Counter(files).items() if count > 1] == []
    assert len(files) == len(modules())


def test_no_name_is_used_twice() -> None:
    assert [name for name, count in Counter(known.name for known in RULES).items() if count > 1] == []


def test_there_are_as_many_rules_and_cases_as_ever() -> None:
    assert len(RULES) >= RULE_FLOOR
    assert sum(len(found) for found in BY_CODE.values()) >= CASE_FLOOR


def test_every_case_file_has_its_rule() -> None:
    assert set(BY_CODE) <= set(modules())


@every_rule()
def test_file_name_is_code_and_name(known: Rule) -> None:
    stem = modules()[known.code].rpartition(".")[2]
    assert stem.startswith(f"{known.code}_")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", known.name)


@every_rule()
def test_constants_are_legal(known: Rule) -> None:
    assert known.severity in SEVERITIES
    assert known.severity_unless_run in (None, *SEVERITIES)
    assert known.exit_code in (None, 2)
    assert known.stage in ("check", "training", "command")


@every_rule()
def test_page_is_whole(known: Rule) -> None:
    found = page(known)
    assert found.title and not found.title.endswith(".") and len(found.title) <= 80
    assert tuple(found.parts) == HEADINGS
    assert all(text.strip() for text in found.parts.values())
    assert all(line.startswith("    ") for line in found.parts["Example"].splitlines() if line)


@every_rule()
def test_check_asks_only_for_what_a_subject_has(known: Rule) -> None:
    assert {parameter.name for parameter in known.parameters} <= NAMES


@every_rule()
def test_rule_has_failing_and_passing_cases(known: Rule) -> None:
    found = BY_CODE.get(known.code, [])
    assert any(case.finds for case in found)
    if known.stage == "check":
        assert any(not case.finds and case.skips is None for case in found)


@every_rule()
def test_rule_with_a_fix_has_a_case_of_it(known: Rule) -> None:
    source = (SOURCES.parent / (modules()[known.code].replace(".", "/") + ".py")).read_text(encoding="utf-8")
    makes_edits = known.check is not None and "edits=" in source
    if makes_edits:
        assert any(expected.get("fixed") for case in BY_CODE[known.code] for expected in case.finds)


@every_rule()
def test_rule_is_pure(known: Rule) -> None:
    source = (SOURCES.parent / (modules()[known.code].replace(".", "/") + ".py")).read_text(encoding="utf-8")
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        )
    }
    assert imported <= {"__future__", "collections", "difflib", "fsdpwiz", "math", "re", "typing"}


def _literal_codes() -> list[tuple[str, str | None, str]]:
    """(code, name, file) of every problem and finding that the sources make with a literal code."""
    found: list[tuple[str, str | None, str]] = []
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            values = {keyword.arg: keyword.value for keyword in node.keywords}
            code, name = (values.get(word) for word in ("code", "name"))
            if isinstance(code, ast.Constant) and re.fullmatch(r"[A-Z]\d{3}", str(code.value)):
                said = name.value if isinstance(name, ast.Constant) else None
                found.append((str(code.value), said, str(path.relative_to(SOURCES))))
            first = [argument.value for argument in node.args[:2] if isinstance(argument, ast.Constant)]
            if first and re.fullmatch(r"[A-Z]\d{3}", str(first[0])):
                said = (
                    first[1]
                    if len(first) > 1 and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", str(first[1]))
                    else None
                )
                found.append((str(first[0]), said, str(path.relative_to(SOURCES))))
    return found


def test_every_code_in_the_sources_has_its_rule_and_name() -> None:
    codes = _literal_codes()
    assert len(codes) > 10
    unknown = [found for found in codes if found[0] not in modules()]
    renamed = [
        found for found in codes if found[1] and found[0] in modules() and rule(found[0]).name != found[1]
    ]
    assert not unknown
    assert not renamed
