"""What a check judges, and the closed set of names by which a rule asks for a part of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fsdpwiz.core.problem import Problem
from fsdpwiz.facts.types import Facts

if TYPE_CHECKING:
    from fsdpwiz.plan.types import Plan
    from fsdpwiz.recipe.types import Recipe

_FACT_NAMES = (
    "gpus", "host", "declared_gpus", "declared_host", "disk", "software", "slurm",
    "model", "data", "eval_data", "script", "port", "environment",
)  # fmt: skip
NAMES = frozenset({"verb", "recipe", "settings", "plan", "problems", "estimate", "facts", *_FACT_NAMES})

_REASONS = {
    "recipe": "no recipe was read",
    "settings": "no recipe was read",
    "plan": "the recipe's faults leave no plan to judge",
    "estimate": "no estimate was made",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing to check. `verb` is the command that asks; `problems` are reading's and resolving's."""

    verb: str
    recipe: Recipe | None = None
    plan: Plan | None = None
    problems: tuple[Problem, ...] = ()
    facts: Facts = field(default_factory=Facts)
    estimate: Any = None

    def part(self, name: str) -> Any:
        """The part of this name (one of `NAMES`), None where it is not known."""
        if name == "settings":
            return self.recipe.settings if self.recipe is not None else None
        return getattr(self.facts if name in _FACT_NAMES else self, name)

    def reason(self, name: str) -> str:
        """Why the part of this name is not known."""
        unknown = f"nothing is known of `{name}`"
        return self.facts.absent.get(name) or _REASONS.get(name, unknown)

    def all_problems(self) -> tuple[Problem, ...]:
        """The problems of the recipe and of resolving it, each once."""
        distinct: list[Problem] = []
        for problem in (*(self.recipe.problems if self.recipe else ()), *self.problems):
            if problem not in distinct:
                distinct.append(problem)
        return tuple(distinct)
