"""Rotation, what an ended attempt leaves, and which checkpoint can be gone on from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.plan.types import Plan
from fsdpwiz.runs.checkpoints import manifest_of
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train import checkpoints
from fsdpwiz.train.resume import checkpoint_to_resume, refusals
from tests.train.plans import make_plan
from tests.train.test_losses import LORA, NF4


def plan(**changes: Any) -> Plan:
    return make_plan(Path("model"), Path("rows.jsonl"), **changes)


def filled(tmp_path: Path, *steps: int, saved_by: Plan | None = None) -> RunFolder:
    folder = RunFolder(tmp_path)
    for step in steps:
        folder.checkpoint(step).mkdir(parents=True)
        manifest = checkpoints.manifest(saved_by or plan(), step)
        (folder.checkpoint(step) / "fsdpwiz.json").write_text(json.dumps(manifest))
        (folder.checkpoint(step) / "trainer_state.json").write_text(json.dumps({"global_step": step}))
    return folder


def names(folder: RunFolder) -> list[str]:
    return sorted(path.name for path in folder.checkpoints.iterdir())


@pytest.mark.parametrize(
    ("limit", "best", "kept"),
    [
        (None, None, ["step-10", "step-2", "step-4", "step-8"]),
        (2, None, ["step-10", "step-8"]),
        (1, None, ["step-10"]),
        (2, 2, ["step-10", "step-2"]),
        (1, 2, ["step-10", "step-2"]),
        (1, 10, ["step-10"]),
        (9, 2, ["step-10", "step-2", "step-4", "step-8"]),
    ],
)
def test_rotation_keeps_the_newest_and_the_best(
    limit: int | None, best: int | None, kept: list[str], tmp_path: Path
) -> None:
    folder = filled(tmp_path, 2, 4, 8, 10)
    checkpoints.rotate(folder, limit, None if best is None else folder.checkpoint(best))
    assert names(folder) == kept


def test_what_was_not_completed_is_removed(tmp_path: Path) -> None:
    folder = filled(tmp_path / "run", 2)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (folder.checkpoints / "checkpoint-4").mkdir()
    (folder.checkpoints / "checkpoint-step-1.removed" / "deep").mkdir(parents=True)
    (folder.checkpoints / "checkpoint-link").symlink_to(elsewhere)
    (folder.checkpoints / "README.md").touch()
    checkpoints.clear_incomplete(folder)
    assert names(folder) == ["README.md", "checkpoint-link", "step-2"]
    assert (elsewhere / "kept").exists()


def test_clearing_a_run_without_checkpoints(tmp_path: Path) -> None:
    checkpoints.clear_incomplete(RunFolder(tmp_path))


def test_the_best_checkpoint_is_one_that_is_there(tmp_path: Path) -> None:
    folder = filled(tmp_path, 2)
    assert checkpoints.best(folder, 2) == folder.checkpoint(2)
    assert checkpoints.best(folder, 4) is None
    assert checkpoints.best(folder, 4, writing=4) == folder.checkpoint(4)
    assert checkpoints.best(folder, None) is None


def test_a_first_attempt_begins_anew(tmp_path: Path) -> None:
    assert checkpoint_to_resume(plan(), filled(tmp_path, 2, 10), 1) is None


def test_a_later_attempt_goes_on_from_the_highest_step(tmp_path: Path) -> None:
    folder = filled(tmp_path, 2, 10)
    assert checkpoint_to_resume(plan(), folder, 2) == folder.checkpoint(10)


def test_a_later_attempt_without_checkpoint_begins_anew(tmp_path: Path) -> None:
    assert checkpoint_to_resume(plan(), RunFolder(tmp_path), 2) is None


FULL = {"state_dict_type": "FULL_STATE_DICT"}
FSDP2_2 = {"kind": "FSDP2", "ranks": 2}


@pytest.mark.parametrize(
    ("saved_by", "resumed_by", "codes"),
    [
        ({}, {}, []),
        ({}, {"kind": "DDP", "ranks": 2}, []),
        (FSDP2_2, {"kind": "FSDP2", "ranks": 4}, []),
        ({}, FSDP2_2, ["I011"]),
        (FSDP2_2, {}, ["I011"]),
        (FSDP2_2, {"kind": "DDP", "ranks": 2}, ["I011"]),
        (FSDP2_2, {"kind": "FSDP1", "ranks": 2, "fsdp": FULL}, ["I012"]),
        ({"kind": "FSDP1", "ranks": 2, "fsdp": FULL}, FSDP2_2, []),
        ({"kind": "FSDP1", "ranks": 2}, FSDP2_2, []),
        ({"kind": "FSDP1", "ranks": 2, "fsdp": FULL}, {"kind": "FSDP1", "ranks": 2, "fsdp": FULL}, []),
        ({"kind": "FSDP1", "ranks": 2}, {"kind": "FSDP1", "ranks": 2}, ["I022"]),
        (FSDP2_2, {**FSDP2_2, "fsdp": FULL}, ["I009"]),
        ({"peft": LORA}, {"peft": {**LORA, "r": 16}}, ["I030"]),
        ({"peft": LORA}, {}, ["I030"]),
        ({"peft": LORA, "quantization": NF4}, {"peft": LORA}, ["I030"]),
    ],
)
def test_what_a_checkpoint_can_follow(
    saved_by: dict[str, Any], resumed_by: dict[str, Any], codes: list[str], tmp_path: Path
) -> None:
    folder = filled(tmp_path, 2, saved_by=plan(**saved_by))
    checkpoint = folder.checkpoint(2)
    found = list(refusals(plan(**resumed_by), checkpoint))
    assert [finding.code for finding in found] == codes
    assert all("step-2" in finding.message for finding in found)


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00"])
def test_a_broken_manifest_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "fsdpwiz.json").write_text(text)
    assert manifest_of(tmp_path) is None
