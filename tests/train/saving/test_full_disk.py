"""A disk that fills up, in the middle of a save or before it: training goes on, what is complete stays."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.train.export.pool import Pool
from tests.train.saving.live_save import full_disk_case

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def disk(place: Path, size: str) -> Iterator[Path]:
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_in_the_middle_of_a_save(pool: Pool, tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "1m") as place:
        reports = pool.run(full_disk_case, 2, folder=place, ranks=2)
    for report in reports:
        assert report["first"] == ""
        assert "No space left on device" in report["second"]
        assert report["differences"] == [], "the checkpoint before is not what it was"
        assert report["stepped"]


def test_before_a_save(bench: Any, tmp_path: Path) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2, "max_steps": 4}
    plan = bench.plan(kind="FSDP2", ranks=2, training=saving)
    with disk(tmp_path / "disk", "40m") as place:
        outcome = bench.ranks.train(plan, place / "run")
        notices = [json.loads(line) for line in outcome.folder.attempt(1).findings.read_text().splitlines()]
        assert outcome.column("step") == [1, 2, 3, 4]
        assert not list(outcome.folder.checkpoints.glob("step-*"))
    assert {report["finding"]["code"] for report in outcome.ranks} == {"P003"}, (
        "the export has no room either"
    )
    assert [notice["code"] for notice in notices] == ["P016", "P016"]
    assert "step 2 was not written" in notices[0]["message"] and "free" in notices[0]["message"]
