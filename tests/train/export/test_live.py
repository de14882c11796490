"""Whatever held the weights in training, the folder holds the same bits and loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.train.export.folders import differing, tensors_of
from tests.train.export.live_case import TRUTH, export_case
from tests.train.export.pool import Pool
from tests.train.plans import make_plan

pytestmark = pytest.mark.slow

CASES: dict[str, tuple[str, int, str, dict[str, Any]]] = {
    "one-process": ("NO", 1, "odd", {}),
    "ddp": ("DDP", 2, "odd", {}),
    "fsdp2": ("FSDP2", 2, "odd", {}),
    "fsdp2-no-reshard": ("FSDP2", 2, "odd", {"fsdp": {"reshard_after_forward": False}}),
    "fsdp2-tied": ("FSDP2", 2, "tied", {}),
    "fsdp2-checkpointed-activations": ("FSDP2", 2, "odd", {"fsdp": {"activation_checkpointing": True}}),
    "fsdp2-hybrid": ("FSDP2", 4, "odd", {"mesh": {"dp_replicate": 2, "dp_shard": 2}}),
    "fsdp2-offload": ("FSDP2", 2, "odd", {"fsdp": {"offload_params": True}}),
    "fsdp1": ("FSDP1", 2, "odd", {}),
    "fsdp1-tied": ("FSDP1", 2, "tied", {}),
    "fsdp1-shard-grad-op": ("FSDP1", 2, "odd", {"fsdp": {"sharding_strategy": "SHARD_GRAD_OP"}}),
    "fsdp1-no-shard": ("FSDP1", 2, "odd", {"fsdp": {"sharding_strategy": "NO_SHARD"}}),
    "fsdp1-flat": ("FSDP1", 2, "tied", {"fsdp": {"use_orig_params": False}}),
    "fsdp1-flat-no-shard": (
        "FSDP1",
        2,
        "odd",
        {"fsdp": {"use_orig_params": False, "sharding_strategy": "NO_SHARD"}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_weights_equal_the_trained_ones(
    case: str, pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    kind, size, base, changes = CASES[case]
    plan = make_plan(bases[base], Path("messages.jsonl"), kind=kind, ranks=size, **changes)
    answers = pool.run(export_case, size, plan=plan, root=tmp_path)
    assert [answer["finding"] for answer in answers] == [None] * size
    truth, folder = torch.load(tmp_path / TRUTH), tmp_path / "model"
    model = AutoModelForCausalLM.from_pretrained(folder)
    loaded = dict(model.named_parameters(remove_duplicate=False))
    assert differing(loaded, {name: truth[name] for name in loaded}) == []
    assert set(tensors_of(folder)) == set(loaded) - ({"lm_head.weight"} if base == "tied" else set())
    assert model.config.architectures == ["LlamaForCausalLM"]
    assert model.config.use_cache
    assert AutoTokenizer.from_pretrained(folder).chat_template
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", TRUTH]
    assert answers[0]["report"].parameters == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("base", "asked", "written"), [("half", None, "bfloat16"), ("odd", "float16", "float16")]
)
def test_dtype_is_the_base_models_or_the_one_asked_for(
    base: str, asked: str | None, written: str, pool: Pool, bases: dict[str, Path], tmp_path: Path
) -> None:
    import torch

    checkpoint = {"mode": "sync", "staging_gb": None, "export_dtype": asked}
    plan = make_plan(bases[base], Path("messages.jsonl"), kind="FSDP2", ranks=2, checkpoint=checkpoint)
    pool.run(export_case, 2, plan=plan, root=tmp_path)
    truth, dtype = torch.load(tmp_path / TRUTH), getattr(torch, written)
    stored = tensors_of(tmp_path / "model")
    assert truth["lm_head.weight"].dtype == torch.float32
    assert differing(stored, {name: truth[name].to(dtype) for name in stored}) == []
    assert f'"dtype": "{written}"' in (tmp_path / "model" / "config.json").read_text()


def test_shards_are_bounded_and_indexed(pool: Pool, bases: dict[str, Path], tmp_path: Path) -> None:
    plan = make_plan(bases["odd"], Path("messages.jsonl"), kind="FSDP1", ranks=2)
    pool.run(export_case, 2, plan=plan, root=tmp_path, limit=150_000)
    sizes = [path.stat().st_size for path in (tmp_path / "model").glob("model-*.safetensors")]
    assert len(sizes) > 2
    assert max(sizes) < 160_000
    assert (tmp_path / "model" / "model.safetensors.index.json").is_file()
