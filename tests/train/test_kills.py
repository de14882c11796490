"""A sample of the kill matrix: see benchmarks/kill_matrix.py."""

from __future__ import annotations

import pytest

from benchmarks.kill_matrix import Case, Moment, moments

pytestmark = pytest.mark.slow

SEED = 7
SAMPLE = list(moments(SEED, 6))


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("killed"))


@pytest.mark.parametrize("moment", SAMPLE, ids=lambda moment: f"{moment.phase}-{moment.target}")
def test_a_killed_run_is_resumed_the_same(moment: Moment, case: Case) -> None:
    outcome = case.tried(moment)
    assert outcome.fault == ""


def test_the_sample_strikes(case: Case) -> None:
    """Else the tests above would only show that runs finish."""
    assert sum(not case.tried(moment).missed for moment in SAMPLE) >= 4
