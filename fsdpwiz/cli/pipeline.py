"""From a recipe's name to a judged plan: find, load, gather facts, resolve, check."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fsdpwiz.facts.gather import gather
from fsdpwiz.facts.types import Facts
from fsdpwiz.plan.resolve import resolve
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.find import find_recipe
from fsdpwiz.recipe.load import load_recipe
from fsdpwiz.recipe.site import find_site
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.engine import check
from fsdpwiz.rules.report import Report
from fsdpwiz.rules.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A recipe read, its facts, what was decided (None where it could not be), and what is wrong with it."""

    recipe: Recipe
    facts: Facts
    plan: Plan | None
    report: Report


def prepare(
    reference: str,
    overrides: Sequence[str] = (),
    *,
    verb: str,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    port: int | None = None,
    ignore: Collection[str] = (),
    select: Collection[str] = (),
) -> Prepared:
    """Read and judge the recipe that `reference` names; raises ProblemError where there is nothing to judge.

    `port` is the rendezvous port to look at (None: not looked at). `ignore` and `select` are codes
    or prefixes of the command line; the recipe's own `ignore` counts as well.
    """
    folder = Path.cwd() if cwd is None else cwd
    environment = os.environ if environ is None else environ
    path = find_recipe(reference, cwd=folder)
    recipe = load_recipe(path, overrides, site=find_site(environment, Path.home()))
    facts = gather(recipe, cwd=folder, environ=environment, port=port)
    plan, problems = resolve(recipe, facts)
    subject = Subject(verb=verb, recipe=recipe, plan=plan, problems=problems, facts=facts)
    reasons = dict.fromkeys(ignore, "ignored on the command line")
    report = check(subject, ignore=reasons, select=tuple(select) or None)
    return Prepared(recipe=recipe, facts=facts, plan=plan, report=report)
