"""A checkpoint becomes the same model that the live export makes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.train.export.folders import differing, tensors_of
from tests.train.export.live_case import export_case
from tests.train.export.pool import Pool
from tests.train.export.test_adapters import LORA, NF4
from tests.train.plans import make_plan

pytestmark = pytest.mark.slow

FULL = {"state_dict_type": "FULL_STATE_DICT"}
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "fsdp2": ("FSDP2", "odd", {}),
    "fsdp2-tied": ("FSDP2", "tied", {}),
    "fsdp2-full": ("FSDP2", "tied", {"fsdp": FULL}),
    "fsdp2-checkpointed-activations": ("FSDP2", "odd", {"fsdp": {"activation_checkpointing": True}}),
    "fsdp1": ("FSDP1", "odd", {}),
    "fsdp1-flat": ("FSDP1", "tied", {"fsdp": {"use_orig_params": False}}),
    "fsdp2-half": ("FSDP2", "half", {}),
    "fsdp2-lora": ("FSDP2", "odd", {"peft": {**LORA, "modules_to_save": ["lm_head"]}}),
    "fsdp2-full-lora": ("FSDP2", "odd", {"fsdp": FULL, "peft": LORA}),
    "fsdp2-qlora": ("FSDP2", "even", {"peft": LORA, "quantization": NF4, "model": {"dtype": "bfloat16"}}),
}


def _checkpoint(pool: Pool, base: Path, root: Path, kind: str, **changes: Any) -> Path:
    """A run folder with a model and the checkpoint it was exported beside."""
    plan = make_plan(base, Path("messages.jsonl"), kind=kind, ranks=2, **changes)
    checkpoint = root / "checkpoints" / "step-1"
    answers = pool.run(export_case, 2, plan=plan, root=root, checkpoint=checkpoint)
    assert answers[0]["finding"] is None
    (root / "plan.json").write_text(json.dumps(plan.to_json()))
    return checkpoint


def _export(*arguments: object) -> tuple[int, dict[str, Any]]:
    """The real child process."""
    command = [sys.executable, "-m", "fsdpwiz.train.export", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def _in_process(source: Path, target: Path, **options: Any) -> Any:
    from fsdpwiz.train.export.offline import Request, export_checkpoint

    return export_checkpoint(Request(source=source, target=target, shard_limit_bytes=150_000, **options))


def _refusal(source: Path, target: Path, **options: Any) -> tuple[str, str]:
    from fsdpwiz.core.errors import FsdpwizError

    with pytest.raises(FsdpwizError) as caught:
        _in_process(source, target, **options)
    assert not target.exists()
    finding = caught.value.findings[0]
    return finding.code, finding.message


@pytest.mark.parametrize("case", CASES)
def test_a_runs_checkpoint_gives_the_model_of_its_end(
    case: str, pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    kind, base, changes = CASES[case]
    _checkpoint(pool, bases[base], tmp_path, kind, **changes)
    done = _in_process(tmp_path, tmp_path / "again", adapter=tmp_path / "again-adapter")
    assert differing(tensors_of(tmp_path / "again"), tensors_of(tmp_path / "model")) == []
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert names == {path.name for path in (tmp_path / "again").iterdir()}
    one, two = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("model", "again"))
    assert one == two
    assert done.tokenizer
    if "peft" in changes:
        apart = [tensors_of(tmp_path / name, "adapter*.safetensors") for name in ("adapter", "again-adapter")]
        assert differing(*apart) == []
    assert not list(tmp_path.glob(".*"))


def test_an_accelerate_checkpoint_of_somebody_else(
    pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    checkpoint = _checkpoint(pool, bases["odd"], tmp_path / "run", "FSDP2")
    foreign = tmp_path / "foreign"
    shutil.copytree(checkpoint, foreign)
    code, message = _refusal(foreign, tmp_path / "out")
    assert code == "P013"
    assert "name its base model with `--model`" in message
    exit_code, document = _export(foreign, "--out", tmp_path / "out", "--model", bases["odd"])
    assert (exit_code, document["findings"]) == (0, [])
    assert differing(tensors_of(tmp_path / "out"), tensors_of(tmp_path / "run" / "model")) == []
    done = _in_process(
        foreign / "pytorch_model_fsdp_0", tmp_path / "half", model=str(bases["odd"]), dtype="bfloat16"
    )
    assert done.dtype == "bfloat16"
    exit_code, document = _export(foreign, "--out", tmp_path / "out", "--model", bases["odd"])
    assert (exit_code, document["findings"][0]["code"]) == (1, "P014")
    assert _export(foreign, "--out", tmp_path / "out", "--model", bases["odd"], "--force")[0] == 0


def test_an_empty_checkpoint_is_no_model(pool: Pool, bases: dict[str, Path], tmp_path: Path) -> None:
    checkpoint = _checkpoint(pool, bases["odd"], tmp_path, "FSDP1", peft=LORA)
    assert "holds no tensors" in _refusal(checkpoint, tmp_path / "out")[1]


def test_a_trainers_plain_and_adapter_checkpoints(bases: dict[str, Path], tmp_path: Path) -> None:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(bases["odd"])
    with torch.no_grad():
        model.model.norm.weight += 0.5
    model.save_pretrained(tmp_path / "checkpoint-7", max_shard_size="100KB")
    _in_process(tmp_path / "checkpoint-7", tmp_path / "plain")
    assert differing(tensors_of(tmp_path / "plain"), dict(model.named_parameters())) == []
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    shutil.copy(bases["odd"] / "config.json", tmp_path)
    _in_process(tmp_path, tmp_path / "from-bin")
    assert differing(tensors_of(tmp_path / "from-bin"), dict(model.named_parameters())) == []

    base = AutoModelForCausalLM.from_pretrained(bases["odd"])
    peft_model = get_peft_model(base, LoraConfig(r=2, target_modules=["o_proj"], init_lora_weights=False))
    peft_model.save_pretrained(tmp_path / "adapter-9")
    _in_process(tmp_path / "adapter-9", tmp_path / "merged", dtype="float32")
    merged = dict(peft_model.merge_and_unload().named_parameters())
    assert differing(tensors_of(tmp_path / "merged"), merged) == []


@pytest.fixture
def plain(bases: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(bases["odd"], tmp_path / "checkpoint"))


def test_what_is_no_checkpoint_is_said(plain: Path, tmp_path: Path) -> None:
    assert _refusal(tmp_path / "nowhere", tmp_path / "out") == (
        "P013",
        f"`{tmp_path / 'nowhere'}` cannot be exported: it is not a folder",
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "it has neither" in _refusal(empty, tmp_path / "out")[1]
    (empty / "pytorch_model_fsdp_0_rank0.bin").touch()
    assert "one file per rank" in _refusal(empty, tmp_path / "out")[1]
    (empty / "pytorch_model_fsdp_0").mkdir()
    assert "the save did not end" in _refusal(empty, tmp_path / "out")[1]


def test_a_torch_file_that_would_run_code_is_refused(plain: Path, tmp_path: Path) -> None:
    import os

    import torch

    class Bomb:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'victim'}",)

    (plain / "model.safetensors").unlink()
    torch.save({"a": Bomb()}, plain / "pytorch_model.bin")
    assert (
        "cannot be exported: it is not a state dict that can be read safely"
        in _refusal(plain, tmp_path / "out")[1]
    )
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize(
    "name", ["../model.safetensors", "/etc/passwd", "sub/model.safetensors", "linked.safetensors"]
)
def test_an_index_that_leads_out_of_its_folder_is_refused(name: str, plain: Path, tmp_path: Path) -> None:
    (plain / "model.safetensors").rename(tmp_path / "model.safetensors")
    (plain / "linked.safetensors").symlink_to(tmp_path / "model.safetensors")
    (plain / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"lm_head.weight": name}}))
    code, message = _refusal(plain, tmp_path / "out")
    assert code == "P013"
    assert "not the name of a file of this folder" in message or "leads out of the folder" in message


def test_a_model_of_another_shape_is_named(plain: Path, bases: dict[str, Path], tmp_path: Path) -> None:
    (plain / "config.json").unlink()
    code, message = _refusal(plain, tmp_path / "out", model=str(bases["even"]))
    assert code == "P011"
    assert "the architecture's is" in message


def test_own_code_of_a_checkpoint_is_not_run(plain: Path, tmp_path: Path) -> None:
    config = json.loads((plain / "config.json").read_text())
    config |= {
        "model_type": "mine",
        "auto_map": {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"},
    }
    (plain / "config.json").write_text(json.dumps(config))
    (plain / "mine.py").write_text(f"open({str(tmp_path / 'victim')!r}, 'w')")
    assert _refusal(plain, tmp_path / "out")[0] == "P013"
    assert not (tmp_path / "victim").exists()
