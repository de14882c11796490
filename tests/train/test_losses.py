"""Every way of spreading a training over processes gives the single process's losses."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

FP32 = {"abs": 1e-5, "rel": 0.0}
BF16 = {"abs": 0.0, "rel": 2e-3}
LORA = {"r": 8, "lora_alpha": 16, "target_modules": "all-linear", "lora_dropout": 0.0}
NF4 = {
    "load_in_4bit": True,
    "bnb_4bit_quant_type": "nf4",
    "bnb_4bit_compute_dtype": "bfloat16",
    "bnb_4bit_quant_storage": "bfloat16",
}
ALIGNED = {"mixed_precision": "bf16", "precision": "aligned"}
QLORA = {
    "mixed_precision": "bf16",
    "precision": "quantised",
    "quantization": NF4,
    "peft": LORA,
    "model": {"dtype": "bfloat16", "trainable_dtype": "bfloat16"},
}
LORA_BF16 = {**ALIGNED, "peft": LORA, "model": {"dtype": "bfloat16"}}
PACKED = {"training": {"packing": True}}
ASSISTANT = {"rows": "messages", "training": {"assistant_only_loss": True}}
HYBRID = {
    "ranks": 4,
    "parallelism": {"dp_replicate_size": 2, "dp_shard_size": 2, "cp_size": 1, "tp_size": 1},
    "mesh": {"dp_replicate": 2, "dp_shard": 2},
}
TWO: dict[str, Any] = {"ranks": 2}
SGO = {"sharding_strategy": "SHARD_GRAD_OP"}
NO_SHARD = {"sharding_strategy": "NO_SHARD"}

# What is trained (also by the single process), how it is spread, how close the losses must be.
CASES = {
    "fsdp2": ({}, {"kind": "FSDP2", **TWO}, FP32),
    "fsdp2-no-reshard": ({}, {"kind": "FSDP2", **TWO, "fsdp": {"reshard_after_forward": False}}, FP32),
    "fsdp2-rank0": (
        {},
        {"kind": "FSDP2", **TWO, "fsdp": {"cpu_ram_efficient_loading": True}, "model": {"loading": "rank0"}},
        FP32,
    ),
    "fsdp2-checkpointing": ({}, {"kind": "FSDP2", **TWO, "fsdp": {"activation_checkpointing": True}}, FP32),
    "fsdp2-accumulation": ({}, {"kind": "FSDP2", **TWO, "accumulation": 2}, FP32),
    "fsdp2-hybrid": ({}, {"kind": "FSDP2", **HYBRID}, FP32),
    "fsdp2-offload": ({}, {"kind": "FSDP2", **TWO, "fsdp": {"offload_params": True}}, FP32),
    "fsdp2-offload-one-rank": ({}, {"kind": "FSDP2", "ranks": 1, "fsdp": {"offload_params": True}}, FP32),
    "fsdp2-packing": (PACKED, {"kind": "FSDP2", **TWO}, FP32),
    "fsdp2-messages": (ASSISTANT, {"kind": "FSDP2", **TWO}, FP32),
    "fsdp2-text": ({"rows": "text"}, {"kind": "FSDP2", **TWO}, FP32),
    "fsdp2-lora": ({"peft": LORA}, {"kind": "FSDP2", **TWO}, FP32),
    "fsdp2-bf16": (ALIGNED, {"kind": "FSDP2", **TWO, "reduce_dtype": "bfloat16"}, BF16),
    "fsdp2-bf16-reduced-in-fp32": (ALIGNED, {"kind": "FSDP2", **TWO, "reduce_dtype": "float32"}, BF16),
    "fsdp2-bf16-lora": (LORA_BF16, {"kind": "FSDP2", **TWO, "reduce_dtype": "bfloat16"}, BF16),
    "fsdp2-qlora": (QLORA, {"kind": "FSDP2", **TWO, "reduce_dtype": "bfloat16"}, BF16),
    "fsdp1": ({}, {"kind": "FSDP1", **TWO}, FP32),
    "fsdp1-shard-grad-op": ({}, {"kind": "FSDP1", **TWO, "fsdp": SGO}, FP32),
    "fsdp1-no-shard": ({}, {"kind": "FSDP1", **TWO, "fsdp": NO_SHARD}, FP32),
    "fsdp1-checkpointing": ({}, {"kind": "FSDP1", **TWO, "fsdp": {"activation_checkpointing": True}}, FP32),
    "fsdp1-bf16": (ALIGNED, {"kind": "FSDP1", **TWO, "reduce_dtype": "bfloat16"}, BF16),
    "fsdp1-lora": ({"peft": LORA}, {"kind": "FSDP1", **TWO}, FP32),
    "fsdp1-qlora": (QLORA, {"kind": "FSDP1", **TWO, "reduce_dtype": "bfloat16"}, BF16),
    "ddp": ({}, {"kind": "DDP", **TWO}, FP32),
    "ddp-accumulation": ({}, {"kind": "DDP", **TWO, "accumulation": 2}, FP32),
    "ddp-bf16": (ALIGNED, {"kind": "DDP", **TWO}, BF16),
    "one-accumulation": ({}, {"accumulation": 4}, FP32),
    "one-checkpointing": ({}, {"training": {"gradient_checkpointing": True}}, FP32),
}


@pytest.mark.parametrize("name", CASES)
def test_losses_of_the_single_process(name: str, bench: Any) -> None:
    what, how, tolerance = CASES[name]
    alone = bench.once(bench.plan(**what))
    merged = {**what, **how}
    for part in ("training", "model"):
        if part in what and part in how:
            merged[part] = {**what[part], **how[part]}
    spread = bench.train(name, bench.plan(**merged))
    assert spread.column("loss") == pytest.approx(alone.column("loss"), **tolerance)
    assert spread.column("tokens") == alone.column("tokens")
    assert spread.column("learning_rate") == alone.column("learning_rate")
    assert spread.column("grad_norm") == pytest.approx(
        alone.column("grad_norm"), rel=2e-2 if tolerance is BF16 else 1e-4
    )
    assert (spread.folder.model / "config.json").is_file()


def test_gradients_are_summed_in_the_planned_dtype(bench: Any) -> None:
    norms = {
        dtype: bench.train(
            f"reduce-{dtype}", bench.plan(kind="FSDP2", ranks=2, **ALIGNED, reduce_dtype=dtype)
        ).column("grad_norm")
        for dtype in ("bfloat16", "float32")
    }
    assert norms["bfloat16"] != norms["float32"]


def test_a_rank_forgets_the_case_before(bench: Any) -> None:
    first = bench.train("first", bench.plan(kind="FSDP2", ranks=2))
    bench.train("between-fsdp1", bench.plan(kind="FSDP1", ranks=2, **ALIGNED, training={"packing": True}))
    bench.train("between-one", bench.plan(peft=LORA))
    again = bench.train("again", bench.plan(kind="FSDP2", ranks=2))
    assert again.column("loss") == first.column("loss")
    assert again.column("grad_norm") == first.column("grad_norm")
