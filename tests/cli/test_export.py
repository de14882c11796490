"""`fsdpwiz export`: a model from a run or from any checkpoint."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import Invoke

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.train.export.odd import write_odd_model

    return write_odd_model(tmp_path_factory.mktemp("base") / "checkpoint-3")


@pytest.fixture
def run(checkpoint: Path, tmp_path: Path) -> Path:
    """A run folder with one complete checkpoint."""
    from tests.train.plans import make_plan

    root = tmp_path / "runs" / "tiny" / "20260101-120000"
    shutil.copytree(checkpoint, root / "checkpoints" / "step-3")
    (root / "plan.json").write_text(json.dumps(make_plan(checkpoint, Path("messages.jsonl")).to_json()))
    (root / "recipe.yaml").write_text("name: tiny\n")
    (root / "source.json").write_text("{}")
    return root


def test_a_run_by_its_name(run: Path, invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("export", "tiny", "--output-dir", tmp_path / "runs", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    document = outcome.json
    assert document["findings"] == []
    assert document["model"] == str(run / "model")
    assert (run / "model" / "model.safetensors").is_file()
    again = invoke("export", run)
    assert again.exit_code == 1
    assert "P014" in again.stderr
    assert "--force" in again.stderr


def test_a_checkpoint_of_a_run_goes_beside_its_model(run: Path, invoke: Invoke) -> None:
    outcome = invoke("export", run / "checkpoints" / "step-3", "--dtype", "bfloat16")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.strip() == str(run / "model-step-3")
    assert "verified: 42 tensors" in outcome.stderr


def test_a_folder_that_is_no_checkpoint(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    outcome = invoke("export", tmp_path / "empty", "--json")
    assert outcome.exit_code == 1
    assert outcome.codes == ["P013"]


def test_an_unknown_run(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("export", "nothing", "--output-dir", tmp_path, "--json")
    assert outcome.codes == ["S032"]


def test_a_dtype_that_is_none(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("export", tmp_path, "--dtype", "int4", "--json")
    assert outcome.exit_code == 2
    assert outcome.codes == ["S020"]


def test_a_missing_extra(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else found(name, *rest)
    )
    outcome = invoke("export", tmp_path, "--json")
    assert outcome.exit_code == 2
    assert outcome.codes == ["P001"]
