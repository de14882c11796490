"""The example of a script of one's own, on two real processes with a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Invoke
from tests.train import tiny

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own-script"


@pytest.mark.slow
def test_the_script_trains_under_fsdp_and_its_model_loads(
    tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    model = tiny.write_model(tmp_path / "tiny")
    data = tiny.write_rows(tmp_path)["messages"]
    trained = tmp_path / "trained"
    arguments = ["--model", str(model), "--data", str(data), "--output", str(trained), "--steps", "2"]

    outcome = invoke(
        "run",
        EXAMPLE,
        f"model.name_or_path={model}",
        f"script_args={json.dumps(arguments)}",
        f"output_dir={tmp_path / 'runs'}",
        "cluster.device=cpu",
        "cluster.processes_per_node=2",
    )

    assert outcome.exit_code == 0, outcome.stderr
    run = next((tmp_path / "runs" / "own-script").iterdir())
    assert json.loads((run / "status.json").read_text())["state"] == "finished"
    assert (trained / "model.safetensors").exists()
    for rank in (0, 1):
        assert (run / "attempts" / "1" / f"rank-{rank}.log").stat().st_size > 0
    from transformers import AutoModelForCausalLM

    before, after = (AutoModelForCausalLM.from_pretrained(folder).state_dict() for folder in (model, trained))
    assert before.keys() == after.keys()
    assert any((before[name].float() - after[name].float()).abs().max() > 0 for name in before)
