"""Fixtures of the export's tests: rank processes, and tiny base models of odd sizes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.train.export.pool import Pool


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    ranks = Pool()
    yield ranks
    ranks.close()


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Llamas whose sizes divide by nothing: `odd`, `tied`, and `half` stored in bfloat16."""
    from tests.train.export.odd import write_odd_model

    folder = tmp_path_factory.mktemp("bases")
    return {
        "odd": write_odd_model(folder / "odd"),
        "tied": write_odd_model(folder / "tied", tied=True),
        "half": write_odd_model(folder / "half", dtype="bfloat16"),
        "even": write_odd_model(folder / "even", hidden_size=192, intermediate_size=128, vocab_size=512),
    }
