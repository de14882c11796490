"""A streamed model trains as one that every rank has loaded whole: the very same losses and norms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.train import tiny
from tests.train.streaming.families import STREAMED, WHOLE, written
from tests.train.test_losses import ALIGNED, HYBRID, LORA, LORA_BF16, PACKED, QLORA

pytestmark = pytest.mark.slow

TWO: dict[str, Any] = {"ranks": 2}
FOUR: dict[str, Any] = {"ranks": 4}
CHECKPOINTING = {"fsdp": {"activation_checkpointing": True}}
BF16_ONLY = {
    "mixed_precision": "no",
    "precision": "memory_constrained",
    "model": {"dtype": "bfloat16", "trainable_dtype": "bfloat16"},
}
CASES: dict[str, dict[str, Any]] = {
    "full": TWO,
    "four": FOUR,
    "bf16": {**TWO, **ALIGNED, "reduce_dtype": "bfloat16"},
    "bf16-only": {**TWO, **BF16_ONLY},
    "checkpointing": {**TWO, **CHECKPOINTING},
    "hybrid": HYBRID,
    "packing": {**TWO, **PACKED},
    "no-reshard": {**TWO, "fsdp": {"reshard_after_forward": False}},
    "offload": {**TWO, "fsdp": {"offload_params": True}},
    "one-rank": {"ranks": 1, "fsdp": {"offload_params": True}},
    "lora": {**TWO, "peft": LORA},
    "lora-checkpointing": {**TWO, "peft": LORA, **CHECKPOINTING},
    "lora-bf16": {**TWO, **LORA_BF16, "reduce_dtype": "bfloat16"},
    "lora-empty-shards": {**FOUR, "peft": {**LORA, "r": 2}},
    "lora-with-biases": {**TWO, **LORA_BF16, "peft": {**LORA, "bias": "all"}, "reduce_dtype": "bfloat16"},
}
TRAINED = ("llama", "gpt2", "gemma2", "phi3")


def streamed(case: dict[str, Any]) -> dict[str, Any]:
    return {
        **case,
        "fsdp": {**case.get("fsdp", {}), "cpu_ram_efficient_loading": True},
        "model": {**case.get("model", {}), "loading": "streaming"},
    }


def same(bench: Any, name: str, case: dict[str, Any]) -> Any:
    case = {"kind": "FSDP2", **case}
    stock = bench.train(f"stock-{name}", bench.plan(**case))
    ours = bench.train(f"streamed-{name}", bench.plan(**streamed(case)))
    for column in ("loss", "grad_norm"):
        assert ours.column(column) == stock.column(column)
    return ours


@pytest.mark.parametrize("name", CASES)
def test_the_very_same_training(name: str, bench: Any) -> None:
    ours = same(bench, name, CASES[name])
    assert not ours.folder.attempt(1).findings.exists()


def test_tied_and_uneven_weights(bench: Any, tmp_path: Path) -> None:
    model = tiny.write_model(tmp_path / "tied", seed=3, tied=True, hidden_size=60, intermediate_size=173)
    for ranks in (2, 4):
        same(bench, f"tied-{ranks}", {"ranks": ranks, "model": {"name_or_path": str(model)}})


def test_files_in_another_dtype_and_in_several_shards(bench: Any, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(bench.model).to(torch.bfloat16)
    loaded.save_pretrained(tmp_path / "model", max_shard_size="100KB")
    AutoTokenizer.from_pretrained(bench.model).save_pretrained(tmp_path / "model")
    assert len(list((tmp_path / "model").glob("*.safetensors"))) > 2
    same(bench, "shards", {"ranks": 2, "model": {"name_or_path": str(tmp_path / "model")}})


@pytest.mark.parametrize("family", TRAINED)
def test_dense_families_are_streamed(family: str, bench: Any, tmp_path: Path) -> None:
    sizes, layer = STREAMED[family]
    model = written(family, sizes, tmp_path / "model")
    ours = same(bench, f"family-{family}", case_of(model, layer))
    assert not ours.folder.attempt(1).findings.exists()


@pytest.mark.parametrize("family", ["mixtral"])
def test_fused_experts_are_loaded_whole_and_said_so(family: str, bench: Any, tmp_path: Path) -> None:
    sizes, layer = WHOLE[family]
    model = written(family, sizes, tmp_path / "model")
    ours = same(bench, f"family-{family}", case_of(model, layer))
    notice = json.loads(ours.folder.attempt(1).findings.read_text())
    assert notice["code"] == "P015" and "transformers converts" in notice["message"]


def case_of(model: Path, layer: str) -> dict[str, Any]:
    return {
        "ranks": 2,
        "fsdp": {"transformer_layer_cls_to_wrap": layer},
        "units": [layer],
        "model": {"name_or_path": str(model), "attn_implementation": "eager"},
        "training": {"max_steps": 2},
    }


def test_a_quantised_base_is_not_streamed(bench: Any) -> None:
    case = streamed({"kind": "FSDP2", **TWO, **QLORA, "reduce_dtype": "bfloat16"})
    ours = bench.train("streamed-qlora", bench.plan(**case))
    assert json.loads(ours.folder.attempt(1).findings.read_text())["code"] == "P015"


def test_resumed_on_more_ranks(bench: Any) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2}
    whole = bench.once(bench.plan(kind="FSDP2", ranks=2, training={"max_steps": 6}))
    case = streamed({"kind": "FSDP2", "ranks": 2})
    bench.train("streamed-resumed", bench.plan(**case, training={"max_steps": 4, **saving}))
    case = streamed({"kind": "FSDP2", "ranks": 4})
    resumed = bench.train(
        "streamed-resumed", bench.plan(**case, training={"max_steps": 6, **saving}), attempt=2
    )
    assert resumed.column("loss", attempt=2) == pytest.approx(whole.column("loss")[4:], abs=2e-6)
