"""The pinned `fsdp` section: every key decided, and none of the other version."""

from __future__ import annotations

from typing import Any

import pytest

from fsdpwiz.facts.types import Model
from tests.plan.recipes import LLAMA, cpu, cuda, make_facts, make_plan

FSDP2 = {
    "version": 2,
    "reshard_after_forward": True,
    "offload_params": False,
    "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "transformer_layer_cls_to_wrap": "LlamaDecoderLayer",
    "state_dict_type": "SHARDED_STATE_DICT",
    "activation_checkpointing": True,
    "activation_checkpointing_offload": False,
    "ignored_modules": None,
    "cpu_ram_efficient_loading": True,
}
FSDP1 = {
    "version": 1,
    "sharding_strategy": "FULL_SHARD",
    "offload_params": False,
    "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "transformer_layer_cls_to_wrap": "LlamaDecoderLayer",
    "backward_prefetch": "BACKWARD_PRE",
    "forward_prefetch": False,
    "state_dict_type": "FULL_STATE_DICT",
    "use_orig_params": True,
    "activation_checkpointing": True,
    "ignored_modules": None,
    "cpu_ram_efficient_loading": True,
    "sync_module_states": True,
}
ON_CPU = {
    "state_dict_type": "SHARDED_STATE_DICT",
    "cpu_ram_efficient_loading": False,
    "sync_module_states": False,
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cluster": cuda(8)}, FSDP2),
        ({"cluster": cpu(2)}, FSDP2),
        ({"cluster": cuda(8), "fsdp": {"version": 1}}, FSDP1),
        ({"cluster": cpu(2), "fsdp": {"version": 1}}, {**FSDP1, **ON_CPU}),
        ({"cluster": cuda(8), "fsdp": {"use_orig_params": False, "forward_prefetch": True}}, FSDP2),
        (
            {"cluster": cuda(8), "fsdp": {"auto_wrap_policy": "SIZE_BASED_WRAP"}},
            {
                **FSDP2,
                "auto_wrap_policy": "SIZE_BASED_WRAP",
                "min_num_params": 100_000_000,
                "transformer_layer_cls_to_wrap": None,
            },
        ),
        (
            {"cluster": cuda(8), "fsdp": {"activation_checkpointing": False, "reshard_after_forward": False}},
            {**FSDP2, "activation_checkpointing": False, "reshard_after_forward": False},
        ),
        (
            {"cluster": cuda(8), "model": {"name_or_path": "org/model", "loading": "every_rank"}},
            {**FSDP2, "cpu_ram_efficient_loading": False},
        ),
    ],
)
def test_section(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert make_plan(**given).fsdp == expected


QUANTISED = {"load_in_4bit": True, "bnb_4bit_quant_storage": "bfloat16"}


@pytest.mark.parametrize(
    ("given", "loading", "mode"),
    [
        ({"cluster": cuda(8)}, "streaming", "async"),
        ({"cluster": cpu(2)}, "streaming", "async"),
        ({"cluster": cuda(8), "fsdp": {"state_dict_type": "FULL_STATE_DICT"}}, "streaming", "sync"),
        ({"cluster": cuda(8), "sft": {"optim": "schedule_free_adamw"}}, "streaming", "sync"),
        ({"cluster": cuda(8), "peft": {"r": 8}}, "streaming", "async"),
        ({"cluster": cuda(8), "peft": {"r": 8}, "quantization": QUANTISED}, "rank0", "async"),
        ({"cluster": cuda(8), "peft": {"r": 8, "use_dora": True}}, "rank0", "async"),
        ({"cluster": cuda(8), "peft": {"r": 8, "modules_to_save": ["lm_head"]}}, "rank0", "async"),
        ({"cluster": cuda(8), "peft": {"r": 8, "init_lora_weights": "pissa"}}, "rank0", "async"),
        ({"cluster": cuda(8), "sft": {"chat_template_path": "Qwen/Qwen3-0.6B"}}, "rank0", "async"),
        ({"cluster": cuda(8), "sft": {"chat_template_path": "chat.jinja"}}, "streaming", "async"),
        ({"cluster": cuda(8), "fsdp": {"version": 1}}, "rank0", "sync"),
        ({"cluster": cpu(2), "fsdp": {"version": 1}}, "every_rank", "sync"),
        ({"cluster": cuda(8), "fsdp": None}, "every_rank", "sync"),
        ({"cluster": cuda(1)}, "every_rank", "sync"),
        ({"cluster": cuda(1), "fsdp": {"offload_params": True}}, "streaming", "async"),
    ],
)
def test_loading_and_checkpoints(given: dict[str, Any], loading: str, mode: str) -> None:
    plan = make_plan(**given)
    assert (plan.model.loading, plan.checkpoint.mode) == (loading, mode)


@pytest.mark.parametrize(
    ("model", "fsdp", "units"),
    [
        (LLAMA, {}, ("LlamaDecoderLayer",)),
        (LLAMA, {"transformer_layer_cls_to_wrap": "A, B"}, ("A", "B")),
        (LLAMA, {"auto_wrap_policy": "NO_WRAP"}, ()),
        (None, {}, ()),
        (None, {"transformer_layer_cls_to_wrap": "A"}, ("A",)),
    ],
)
def test_units(model: Model | None, fsdp: dict[str, Any], units: tuple[str, ...]) -> None:
    plan = make_plan(make_facts(model=model), cluster=cuda(8), fsdp=fsdp)
    assert plan.units == units
    assert plan.fsdp is not None
    assert plan.fsdp["transformer_layer_cls_to_wrap"] == (",".join(units) or None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cluster": cuda(8)}, False),
        ({"cluster": cuda(8), "fsdp": {"activation_checkpointing": False}}, False),
        ({"cluster": cuda(1)}, True),
        ({"cluster": cuda(1), "fsdp": {"activation_checkpointing": False}}, False),
        ({"cluster": cuda(8), "fsdp": None}, True),
        ({"cluster": cuda(8), "fsdp": None, "sft": {"gradient_checkpointing": False}}, False),
        ({"cluster": cuda(1), "fsdp": None, "sft": {"gradient_checkpointing": False}}, False),
    ],
)
def test_checkpointing_by_the_trainer(given: dict[str, Any], expected: bool) -> None:
    assert make_plan(**given).training["gradient_checkpointing"] is expected
