"""Number formats, as they follow from upstream's two keys."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan.recipes import cpu, cuda, make_facts, make_plan

LORA, BITS4 = {"r": 8}, {"load_in_4bit": True}
FULL: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("mixed", "dtype", "extra", "expected"),
    [
        # mixed_precision, model.dtype, sections -> model.dtype, trainable, precision
        ("bf16", None, FULL, ("float32", "float32", "aligned")),
        ("bf16", "bfloat16", FULL, ("float32", "float32", "aligned")),
        ("fp16", None, FULL, ("float32", "float32", "aligned")),
        ("no", None, FULL, ("float32", "float32", "float32")),
        ("no", "bfloat16", FULL, ("bfloat16", "bfloat16", "memory_constrained")),
        ("no", "float16", FULL, ("float16", "float16", "memory_constrained")),
        ("bf16", None, {"peft": LORA}, ("bfloat16", "float32", "aligned")),
        ("fp16", None, {"peft": LORA}, ("float16", "float32", "aligned")),
        ("bf16", "float32", {"peft": LORA}, ("float32", "float32", "aligned")),
        ("no", None, {"peft": LORA}, ("float32", "float32", "float32")),
        ("no", "bfloat16", {"peft": LORA}, ("bfloat16", "bfloat16", "memory_constrained")),
        ("bf16", None, {"peft": LORA, "quantization": BITS4}, ("bfloat16", "bfloat16", "quantised")),
        ("no", None, {"peft": LORA, "quantization": BITS4}, ("float32", "float32", "quantised")),
        ("no", "bfloat16", {"peft": LORA, "quantization": BITS4}, ("bfloat16", "bfloat16", "quantised")),
        (
            "bf16",
            None,
            {"peft": LORA, "quantization": {**BITS4, "bnb_4bit_quant_storage": "float32"}},
            ("bfloat16", "float32", "quantised"),
        ),
    ],
)
def test_dtypes(mixed: str, dtype: str | None, extra: dict[str, Any], expected: tuple[str, str, str]) -> None:
    model = {"name_or_path": "org/model", "dtype": dtype}
    plan = make_plan(cluster=cuda(8), mixed_precision=mixed, model=model, **extra)
    assert (plan.model.dtype, plan.model.trainable_dtype, plan.precision) == expected


@pytest.mark.parametrize(
    ("facts", "cluster", "expected"),
    [
        (make_facts(gpus=2), cuda(2), "bf16"),
        (make_facts(gpus=2, capability=(7, 5)), cuda(2), "no"),
        (make_facts(gpus=2, capability=None), cuda(2), "bf16"),
        (make_facts(gpus=2), cpu(2), "no"),
        (make_facts(), cuda(2), "bf16"),
    ],
)
def test_mixed_precision_follows_the_card(facts: Any, cluster: dict[str, Any], expected: str) -> None:
    plan = make_plan(facts, cluster=cluster)
    assert plan.mixed_precision == expected
    assert (plan.training["bf16"], plan.training["fp16"]) == (expected == "bf16", False)


def test_declared_card_decides_where_none_is_here() -> None:
    facts = make_facts(declared_gpus=make_facts(gpus=2, capability=(7, 0)).gpus)
    assert make_plan(facts, cluster=cuda(2)).mixed_precision == "no"


@pytest.mark.parametrize(("mixed", "compute"), [("bf16", "bfloat16"), ("fp16", "float16"), ("no", "float32")])
def test_quantisation_is_pinned(mixed: str, compute: str) -> None:
    plan = make_plan(cluster=cuda(2), mixed_precision=mixed, peft=LORA, quantization=BITS4)
    assert plan.quantization == {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": False,
        "bnb_4bit_compute_dtype": compute,
        "bnb_4bit_quant_storage": compute,
    }


def test_nothing_quantised() -> None:
    assert make_plan(quantization={"load_in_4bit": False}).quantization is None
    assert make_plan(quantization={"load_in_8bit": True}).precision == "quantised"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cluster": cuda(2), "mixed_precision": "bf16"}, "bfloat16"),
        ({"cluster": cuda(2), "mixed_precision": "bf16", "reduce_dtype": "float32"}, "float32"),
        ({"cluster": cuda(2), "mixed_precision": "no"}, None),
        ({"cluster": cuda(2), "mixed_precision": "bf16", "fsdp": None}, None),
    ],
)
def test_reduce_dtype(given: dict[str, Any], expected: str | None) -> None:
    assert make_plan(**given).reduce_dtype == expected
