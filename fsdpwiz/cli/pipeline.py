"""From a recipe's name to a judged plan: find, load, gather facts, resolve, check."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fsdpwiz.cli.wanted import wanted_of
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChoice:
    """Codes or their beginnings, of the command line: which rules to judge by (empty: all), which not."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


ALL_RULES = RuleChoice()


def prepare(
    reference: str,
    overrides: Sequence[str] = (),
    *,
    verb: str,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    port: int | None = None,
    base: Path | None = None,
    choice: RuleChoice = ALL_RULES,
) -> Prepared:
    """Read and judge the recipe that `reference` names; raises ProblemError where there is nothing to judge.

    `port` is the rendezvous port to look at (None: not looked at). `base` is the folder of relative
    paths where it is not the recipe's own (a run folder's copy). The recipe's own `ignore` counts
    beside `choice`.
    """
    folder = Path.cwd() if cwd is None else cwd
    environment = os.environ if environ is None else environ
    path = find_recipe(reference, cwd=folder)
    recipe = load_recipe(path, overrides, site=find_site(environment, Path.home()), base=base)
    facts = gather(wanted_of(recipe, cwd=folder), environ=environment, port=port)
    plan, problems = resolve(recipe, facts)
    subject = Subject(verb=verb, recipe=recipe, plan=plan, problems=problems, facts=facts)
    reasons = dict.fromkeys(choice.ignore, "ignored on the command line")
    report = check(subject, ignore=reasons, select=choice.select or None)
    return Prepared(recipe=recipe, facts=facts, plan=plan, report=report)
