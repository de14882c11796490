"""The method's section and the adapter's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fsdpwiz.plan.training import PINNED
from fsdpwiz.recipe.upstream import fields
from tests.plan.recipes import LLAMA, cpu, cuda, make_facts, make_plan


def test_what_decides_the_numbers_is_pinned() -> None:
    training = make_plan(cluster=cpu(2)).training
    known = fields("sft")
    assert set(PINNED) <= set(training) and set(training) <= set(known)
    solved = {"per_device_train_batch_size"}
    assert all(training[name] == known[name].default for name in set(PINNED) - solved)
    assert training["average_tokens_across_devices"] is True


def test_null_is_a_value_there() -> None:
    training = make_plan(cluster=cpu(2), sft={"max_length": None}).training
    assert training["max_length"] is None


def test_given_keys_come_through() -> None:
    given = {"lr_scheduler_kwargs": {"num_cycles": 2}, "report_to": ["wandb"], "dataset_num_proc": 2}
    training = make_plan(cluster=cpu(2), sft=given).training
    assert {name: training[name] for name in given} == given
    assert make_plan(cluster=cpu(2)).training["report_to"] == "none"


def test_evaluation_data_is_evaluated() -> None:
    data = {"name_or_path": "org/data", "eval_split": "test"}
    plan = make_plan(cluster=cpu(2), data=data)
    assert plan.training["eval_strategy"] == "epoch"
    assert plan.origins["sft.eval_strategy"]["source"] == "derived"
    said = make_plan(cluster=cpu(2), data=data, sft={"eval_strategy": "no"})
    assert said.training["eval_strategy"] == "no"


def test_adapter_is_pinned() -> None:
    peft = make_plan(cluster=cpu(2), peft={"r": 4, "target_modules": "all-linear"}).peft
    assert peft is not None
    assert (peft["r"], peft["target_modules"], peft["task_type"]) == (4, "all-linear", "CAUSAL_LM")
    assert peft["lora_alpha"] == fields("peft")["lora_alpha"].default
    assert make_plan(cluster=cpu(2), peft=None).peft is None


def flash(attention: str = "flash_attention_2") -> dict[str, Any]:
    return {"name_or_path": "org/model", "attn_implementation": attention}


@pytest.mark.parametrize(
    "attention", ["flash_attention_2", "flash_attention_3", "kernels-community/flash-attn2", "flash_attn3"]
)
def test_rows_are_packed_where_flash_attention_keeps_documents_apart(attention: str) -> None:
    plan = make_plan(cluster=cuda(2), model=flash(attention))
    assert (plan.training["packing"], plan.training["packing_strategy"]) == (True, "bfd")
    origin = plan.origins["sft.packing"]
    assert (origin["source"], origin["by"]) == ("derived", f"model.attn_implementation {attention}")


@pytest.mark.parametrize(
    "given",
    [
        {"model": flash("sdpa")},
        {"model": {"name_or_path": "org/model"}},
        {"sft": {"packing": False}},
        {"sft": {"padding_free": False}},
        {"sft": {"eval_packing": True}},
        {"sft": {"packing_strategy": "wrapped"}},
        {"sft": {"max_length": None}},
        {"model": {**flash(), "trust_remote_code": True}},
        {"script": "train.py"},
        {"parallelism": {"cp_size": 2}},
    ],
    ids=str,
)
def test_nothing_is_packed_where_it_could_change_what_is_learnt(given: dict[str, Any]) -> None:
    plan = make_plan(**{"cluster": cuda(2), "model": flash(), **given})
    assert plan.training["packing"] is False


@pytest.mark.parametrize(
    "model",
    [
        None,
        replace(LLAMA, layer_classes=None),
        replace(LLAMA, config={"layer_types": ["full_attention", "linear_attention"]}),
        replace(LLAMA, config={"layer_types": ["mamba", "attention"]}),
        replace(LLAMA, config={"mamba_d_state": 16}),
    ],
)
def test_nothing_is_packed_for_layers_that_carry_a_state_or_are_unknown(model: Any) -> None:
    assert make_plan(make_facts(model=model), cluster=cuda(2), model=flash()).training["packing"] is False


def test_sliding_windows_are_packed() -> None:
    model = replace(LLAMA, config={"layer_types": ["sliding_attention", "full_attention"]})
    assert make_plan(make_facts(model=model), cluster=cuda(2), model=flash()).training["packing"] is True


def test_the_optimizer_is_fused_by_default() -> None:
    """On every device: torch's fused AdamW knows CPUs too."""
    for cluster in (cuda(2), cpu(2)):
        plan = make_plan(cluster=cluster)
        assert plan.training["optim"] == "adamw_torch_fused"
        assert plan.origins["sft.optim"]["by"].startswith("trl ")
    assert make_plan(cluster=cuda(2), sft={"optim": "sgd"}).origins["sft.optim"]["source"] == "recipe"


def test_compilation_and_kernels_come_when_asked_for() -> None:
    asked = {"torch_compile": True, "torch_compile_mode": "default", "use_liger_kernel": True}
    plan = make_plan(cluster=cuda(2), sft=asked)
    assert {name: plan.training[name] for name in asked} == asked
    assert all(plan.origins[f"sft.{name}"]["source"] == "recipe" for name in asked)
    assert not set(asked) & set(make_plan(cluster=cuda(2)).training)
