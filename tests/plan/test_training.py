"""The method's section and the adapter's."""

from __future__ import annotations

from fsdpwiz.plan.training import PINNED
from fsdpwiz.recipe.upstream import fields
from tests.plan.recipes import cpu, make_plan


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
