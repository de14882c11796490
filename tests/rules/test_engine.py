"""What a check does with its rules: findings, places, what is skipped, ignored or broken, the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdpwiz.core.findings import Finding
from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Facts, Gpus, Port
from fsdpwiz.plan.resolve import resolve
from fsdpwiz.recipe.load import read_recipe
from fsdpwiz.rules import catalogue
from fsdpwiz.rules.engine import check, word
from fsdpwiz.rules.report import exit_code
from fsdpwiz.rules.rule import Found, NotJudged, Rule
from fsdpwiz.rules.subject import Subject

TEXT = """\
model: {name_or_path: owner/model}
data: {name_or_path: owner/data}
cluster: {device: cpu, processes_per_node: 4}
fsdp:
  version: 1
  sharding_strategy: HYBRID_SHARD
  offload_params: true
sft:
  max_lenght: 2048
"""


def subject(text: str = TEXT, *, verb: str = "validate", facts: Facts | None = None) -> Subject:
    facts = facts or Facts()
    recipe = read_recipe(text, path=Path("recipe.yaml"))
    plan, problems = resolve(recipe, facts)
    return Subject(verb=verb, recipe=recipe, plan=plan, problems=problems, facts=facts)


@pytest.fixture
def with_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a rule in the place of A003's."""

    def put(checker: Callable[..., Any], **changes: Any) -> None:
        real, original = catalogue.rule("A003"), catalogue.rule
        made = replace(real, check=checker, parameters=catalogue._parameters(checker), **changes)
        monkeypatch.setattr(catalogue, "rule", lambda code: made if code == "A003" else original(code))

    return put


def test_errors_come_first_then_by_line() -> None:
    found = check(subject()).findings
    places = [(finding.severity, finding.line) for finding in found]
    assert [code for code, *_ in [(f.code,) for f in found]][:3] == ["C019", "F023", "S001"]
    assert places[:3] == [("error", 6), ("error", 7), ("error", 9)]
    assert [severity for severity, _ in places] == sorted(
        (severity for severity, _ in places), key=("error", "warning", "info").index
    )


def test_a_key_nobody_wrote_has_the_line_of_its_section_or_none() -> None:
    under_section = check(subject(), select=["I022"]).findings[0]
    assert (under_section.key, under_section.line) == ("fsdp.state_dict_type", 4)
    nowhere = check(subject("sft: {max_steps: 1}\n"), select=["S007"]).findings[0]
    assert (nowhere.file, nowhere.line) == ("recipe.yaml", None)


def test_an_override_has_no_line() -> None:
    recipe = read_recipe(TEXT, ["model.trust_remote_code=true"], path=Path("recipe.yaml"))
    found = check(Subject(verb="validate", recipe=recipe), select=["D033"]).findings
    assert [(finding.file, finding.line) for finding in found] == [(None, None)]


def test_a_rule_without_its_fact_is_skipped_with_the_reason() -> None:
    facts = Facts(absent={"disk": "no output folder is known"})
    report = check(subject(facts=facts), select=["P003", "P004"])
    assert report.skipped == (("P003", "no output folder is known"), ("P004", "no output folder is known"))
    assert report.passed == () and report.findings == ()


def test_a_rule_without_a_plan_is_skipped() -> None:
    report = check(subject("cluster: {device: cuda}\n", facts=Facts(gpus=Gpus(source="measured", cards=()))))
    assert ("C001", "the recipe's faults leave no plan to judge") in report.skipped
    assert "A018" in [finding.code for finding in report.findings]


def test_every_rule_of_a_check_is_counted_once() -> None:
    report = check(subject())
    judged = {code for code, rule in catalogue.rules().items() if rule.stage == "check"}
    counted = [
        *report.passed,
        *(code for code, _ in report.skipped),
        *{finding.code for finding in report.findings},
    ]
    assert sorted(counted) == sorted(judged)


def test_ignored_by_code_prefix_and_recipe() -> None:
    text = TEXT + "ignore: {C019: we compare on purpose}\n"
    report = check(subject(text), ignore={"F": "a trial"})
    codes = [finding.code for finding in report.findings]
    assert "C019" not in codes and "F023" not in codes
    assert report.ignored == (("C019", "we compare on purpose"), ("F023", "a trial"))


def test_the_longest_prefix_gives_the_reason() -> None:
    report = check(subject(), ignore={"C": "all", "C019": "this one"}, select=["C019"])
    assert report.ignored == (("C019", "this one"),)


def test_errors_of_the_recipes_form_cannot_be_ignored() -> None:
    report = check(subject(), ignore={"S": "no", "S001": "no"})
    assert "S001" in [finding.code for finding in report.findings]
    assert "S001" not in [code for code, _ in report.ignored]


def test_warnings_of_the_recipes_form_can_be_ignored() -> None:
    text = "model: {name_or_path: a/b}\ndata: {name_or_path: a/b}\nlauncher: slurm\n"
    assert check(subject(text), ignore={"S006": "later"}, select=["S006"]).ignored == (("S006", "later"),)
    assert check(subject(text, verb="run"), ignore={"S006": "later"}, select=["S006"]).findings


def test_a_rule_that_raises_is_a_finding_and_does_not_stop_the_rest(with_rule: Callable[..., None]) -> None:
    def broken(recipe: Any) -> Iterator[Found]:
        raise KeyError("version")
        yield

    with_rule(broken)
    report = check(subject())
    assert report.crashed == ("A003",)
    assert "A003" not in report.passed
    crash = next(finding for finding in report.findings if finding.code == "S099")
    assert crash.message.startswith("Rule A003 failed with KeyError: 'version'")
    assert "S001" in [finding.code for finding in report.findings]
    assert check(subject(), ignore={"A003": "known"}).crashed == ()


def test_a_rule_file_that_does_not_load_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    original = catalogue.rule

    def load(code: str) -> Rule:
        if code == "A003":
            raise catalogue.BrokenRuleError("fsdpwiz.rules.spelling.A003: SyntaxError")
        return original(code)

    monkeypatch.setattr(catalogue, "rule", load)
    report = check(subject())
    assert report.crashed == ("A003",)
    assert "S001" in [finding.code for finding in report.findings]


def test_a_problem_without_a_rule_is_a_finding_all_the_same() -> None:
    problem = Problem(code="Z123", key="a.b", file="f", line=3, detail={"got": 7})
    found = check(Subject(verb="validate", problems=(problem,))).findings
    assert [(finding.code, finding.severity, finding.line) for finding in found] == [("Z123", "error", 3)]
    assert "7" in found[0].message


def test_a_problem_reported_twice_is_one_finding() -> None:
    one = subject()
    again = replace(one, problems=(*one.problems, *one.recipe.problems)) if one.recipe else one
    assert [f.code for f in check(again).findings] == [f.code for f in check(one).findings]


def test_severity_depends_on_the_verb() -> None:
    text = "model: {name_or_path: a/b}\ndata: {name_or_path: a/b}\ncluster: {gpus_per_node: 8}\n"
    facts = Facts(gpus=Gpus(source="measured", cards=()))
    severities = {
        verb: check(subject(text, verb=verb, facts=facts), select=["K010"]).findings[0].severity
        for verb in ("run", "validate", "render", "dry-run")
    }
    assert severities == {"run": "error", "validate": "warning", "render": "warning", "dry-run": "warning"}
    assert word(Problem(code="P004", detail={"path": "/x"})).severity == "error"


def test_an_optional_fact_may_lack(with_rule: Callable[..., None]) -> None:
    def optional(recipe: Any, port: Port | None) -> Iterator[Found]:
        assert port is None
        yield from ()

    with_rule(optional)
    assert check(subject(), select=["A003"]).passed == ("A003",)


def test_a_rule_that_cannot_judge_is_skipped_unless_it_found_something(
    with_rule: Callable[..., None],
) -> None:
    found: list[Found] = []

    def unsure(recipe: Any) -> Iterator[Found]:
        yield from found
        raise NotJudged("it is compressed")

    with_rule(unsure)
    report = check(subject(), select=["A003"])
    assert (report.skipped, report.passed) == ((("A003", "it is compressed"),), ())
    found.append(Found(message="a fault"))
    report = check(subject(), select=["A003"])
    assert [finding.message for finding in report.findings] == ["a fault"]
    assert (report.skipped, report.passed) == ((), ())


def finding(code: str, severity: str) -> Finding:
    return Finding(code=code, name="x", severity=severity, message="x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("findings", "strict", "expected"),
    [
        ([], False, 0),
        ([("C001", "warning"), ("C011", "info")], False, 0),
        ([("C001", "warning")], True, 1),
        ([("C011", "info")], True, 0),
        ([("S001", "error")], False, 1),
        ([("S001", "error"), ("S011", "error")], False, 2),
        ([("P001", "error")], False, 2),
        ([("P001", "info")], True, 0),
        ([("Z999", "error")], False, 1),
    ],
)
def test_exit_code(findings: list[tuple[str, str]], strict: bool, expected: int) -> None:
    assert exit_code([finding(*one) for one in findings], strict=strict) == expected


def test_the_document() -> None:
    report = check(subject(), ignore={"F": "a trial"})
    document = json.loads(json.dumps(report.to_json()))
    assert list(document) == ["schema", "findings", "counts", "skipped", "ignored"]
    assert document["counts"] == {
        "found": len(report.findings),
        "passed": len(report.passed),
        "skipped": len(report.skipped),
        "ignored": 1,
        "crashed": 0,
    }
    assert document["ignored"] == [{"code": "F023", "reason": "a trial"}]


def test_messages_show_control_characters_and_hide_secrets() -> None:
    token = "hf_" + "a" * 30
    problem = Problem(code="S011", detail={"reason": f"\x1b[2J and {token}"})
    message = word(problem).message
    assert "\x1b" not in message and "\\x1b" in message
    assert token not in message


WORDS = """got legal nearest elsewhere owner expected edits suggestion reference limit override reason path
mesh world_size micro missing extra known tensors saved planned checkpoint rank signal waited_s
global_batch_size data_parallel_ranks"""

details = st.dictionaries(
    st.sampled_from(WORDS.split()),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=4,
    ),
)


@given(
    code=st.sampled_from(sorted(catalogue.modules())), key=st.none() | st.text(max_size=30), detail=details
)
def test_word_never_raises(code: str, key: str | None, detail: dict[str, Any]) -> None:
    said = word(Problem(code=code, key=key, detail=detail))
    assert said.code == code and said.message
    json.dumps(said.to_json(), default=str)
