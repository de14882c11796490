"""A checkpoint holds the state of its save, whatever the training has done while it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.train.export.pool import Pool
from tests.train.saving.live_save import failing_case, saved_case

pytestmark = pytest.mark.slow

CASES: dict[str, dict[str, Any]] = {
    "copied": {"ranks": 2, "staging_gb": None, "slow_s": 0.02},
    "waited-for": {"ranks": 2, "staging_gb": 0, "slow_s": 0.02},
    "partly-copied": {"ranks": 2, "staging_gb": 40e-6, "slow_s": 0.02},
    "written-in-time": {"ranks": 2, "staging_gb": None, "slow_s": 0.0},
    "hybrid": {"ranks": 4, "staging_gb": None, "slow_s": 0.02, "replicate": 2},
    "one": {"ranks": 1, "staging_gb": None, "slow_s": 0.02},
    "three-in-turn": {"ranks": 2, "staging_gb": None, "slow_s": 0.01, "saves": 3},
}


@pytest.mark.parametrize("name", CASES)
def test_the_state_of_the_save(name: str, pool: Pool, tmp_path: Path) -> None:
    case = CASES[name]
    reports = pool.run(saved_case, case["ranks"], folder=tmp_path, **case)
    for report in reports:
        assert report["differences"] == []
        assert report["changed"] > 20
        assert report["stalls"]
    copied = [report["copied_bytes"] for report in reports]
    if case["slow_s"] and case["staging_gb"] is None:
        assert all(copied)
    if case["staging_gb"] is not None:
        assert max(copied) <= case["staging_gb"] * 1e9
    assert [len(report["completed"]) for report in reports] == [case.get("saves", 1)] + [0] * (
        case["ranks"] - 1
    )


def test_files_with_sizes_and_checksums(pool: Pool, tmp_path: Path) -> None:
    from fsdpwiz.train.checksums import check_contents, check_sizes

    report = pool.run(saved_case, 2, folder=tmp_path, ranks=2, staging_gb=None, slow_s=0.0)[0]
    sums = {
        name: {"bytes": size, "xxh3_128": digest} for name, (size, digest) in report["completed"][0].items()
    }
    assert sorted(sums) == [
        f"{part}/__{rank}_0.distcp" for part in ("optimizer_0", "pytorch_model_fsdp_0") for rank in (0, 1)
    ]
    check_sizes(tmp_path / "0", sums)
    check_contents(tmp_path / "0", sums)


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_of_one_rank_is_known_to_all(failing: int, pool: Pool, tmp_path: Path) -> None:
    reports = pool.run(failing_case, 2, folder=tmp_path, ranks=2, failing=failing)
    for rank, report in enumerate(reports):
        assert "No space left on device" in report["error"]
        assert report["error"].startswith("[Errno 28]" if rank == failing else f"rank {failing}: OSError")
        assert report["failed"] == [] and not report["metadata"]
        assert report["differences"] == []
