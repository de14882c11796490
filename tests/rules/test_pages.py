"""The reference of the rules is what the rule files say."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.rules.catalogue import modules, rule
from fsdpwiz.rules.pages import REFERENCE, page, reference

ROOT = Path(__file__).parents[2]


def test_reference_is_in_step() -> None:
    written = (ROOT / REFERENCE).read_text(encoding="utf-8")
    assert written == reference(), "run `make generate`"


def test_reference_has_every_rule() -> None:
    text = reference()
    assert all(f"### {code} {rule(code).name}\n" in text for code in modules())


def test_page_is_taken_apart() -> None:
    found = page(rule("S001"))
    assert found.title == "A key that no part knows"
    assert found.parts["Example"].splitlines()[1] == "      max_lenght: 2048"
