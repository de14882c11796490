"""The tiny model, its data and the rank processes, once per session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.plan.types import Plan
from tests.train import plans, tiny
from tests.train.ranks import Outcome, Ranks


@dataclass(slots=True)
class Bench:
    """Trains cases on the session's ranks, each in a fresh run folder."""

    root: Path
    model: Path
    rows: dict[str, Path]
    ranks: Ranks
    _trained: dict[str, Outcome] = field(default_factory=dict)

    def plan(self, rows: str = "prompt-completion", **changes: Any) -> Plan:
        return plans.make_plan(self.model, self.rows[rows], **changes)

    def train(self, name: str, plan: Plan, *, attempt: int = 1) -> Outcome:
        outcome = self.ranks.train(plan, self.root / name, attempt=attempt)
        assert outcome.errors == []
        return outcome

    def once(self, plan: Plan) -> Outcome:
        """The outcome of `plan`, trained once per session."""
        key = json.dumps(plan.to_json(), sort_keys=True)
        if key not in self._trained:
            self._trained[key] = self.train(f"once-{len(self._trained)}", plan)
        return self._trained[key]


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_model(tmp_path_factory.mktemp("tiny") / "model")


@pytest.fixture(scope="session")
def tiny_rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tiny.write_rows(tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="session")
def bench(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Path, tiny_rows: dict[str, Path]
) -> Iterator[Bench]:
    root = tmp_path_factory.mktemp("cases")
    ranks = Ranks(root)
    yield Bench(root=root, model=tiny_model, rows=tiny_rows, ranks=ranks)
    ranks.close()
