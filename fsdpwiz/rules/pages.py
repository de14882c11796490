"""The `explain` pages as data, and the reference of all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fsdpwiz.rules.catalogue import modules, rules
from fsdpwiz.rules.rule import Rule

HEADINGS = ("What", "Why", "Example", "How to fix", "When to ignore", "References")
REFERENCE = "docs/reference/rules.md"

_HEADING = re.compile(r"^## (.+)$", re.M)
_SUBJECTS = {
    "A": "Spelling",
    "B": "Versions",
    "C": "Sharding",
    "D": "Model and wrapping",
    "E": "Precision",
    "F": "Loading and offload",
    "G": "Activation checkpointing",
    "H": "Adapters",
    "I": "Checkpoints",
    "J": "Data",
    "K": "Launcher",
    "L": "Environment",
    "P": "Launch and run",
    "S": "Recipe and command line",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A rule's page: its title and the text under each heading, in order."""

    title: str
    parts: dict[str, str]


def page(rule: Rule) -> Page:
    """The page of a rule, taken apart."""
    title, *rest = _HEADING.split(rule.page)
    parts = {heading: text.strip("\n") for heading, text in zip(rest[::2], rest[1::2], strict=True)}
    return Page(title=title.strip(), parts=parts)


def reference() -> str:
    """docs/reference/rules.md: every rule's page, by subject."""
    known = rules()
    lines = [
        "# Rules",
        "",
        "Generated from the rule files by `make generate`; `fsdpwiz explain CODE` shows one.",
        "",
    ]
    for letter in sorted({code[0] for code in modules()}):
        codes = [code for code in known if code.startswith(letter)]
        lines += [f"## {letter}: {_SUBJECTS[letter]}", ""]
        lines += [_entry(known[code]) for code in codes]
    return "\n".join(lines).rstrip("\n") + "\n"


def _entry(rule: Rule) -> str:
    found = page(rule)
    severity = f"{rule.severity} for `run`, else {rule.severity_unless_run}"
    facts: str = severity if rule.severity_unless_run else rule.severity
    if rule.exit_code:
        facts += f", exit code {rule.exit_code}"
    parts = [f"**{heading}**\n\n{text}\n" for heading, text in found.parts.items()]
    return "\n".join([f"### {rule.code} {rule.name}", "", f"{found.title} ({facts})", "", *parts])
