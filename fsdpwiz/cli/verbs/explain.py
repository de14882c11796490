"""Explain a finding's code: what it means and how to fix it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from fsdpwiz.cli.completion import codes
from fsdpwiz.cli.output import out
from fsdpwiz.rules.catalogue import modules, rule, rules
from fsdpwiz.rules.rule import Rule


def command(
    code: Annotated[
        str,
        typer.Argument(
            metavar="CODE",
            help="A finding's code or name, e.g. `S001` or `unknown-key`.",
            autocompletion=codes,
            show_default=False,
        ),
    ],
) -> None:
    """Print the page of a finding's code."""
    found = _rule(code)
    page = found.page.strip()
    if out.json:
        return out.document(
            {"code": found.code, "name": found.name, "severity": found.severity, "page": page}
        )
    out.data(f"{found.code} {found.name} ({found.severity})\n")
    return out.data(page)


def _rule(code: str) -> Rule:
    if code.upper() in modules():
        return rule(code.upper())
    by_name = {known.name: known for known in rules().values()}
    if code.lower() in by_name:
        return by_name[code.lower()]
    near = get_close_matches(code.upper(), modules(), n=3, cutoff=0.5)
    near += get_close_matches(code.lower(), by_name, n=2)
    hint = f"near it: {', '.join(near)}" if near else "codes look like `S001`"
    raise typer.BadParameter(f"no finding has the code `{code}`; {hint}")
