"""What TRL's own SFTConfig makes of our arguments is what the plan says."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.effective import effective
from fsdpwiz.render.environment import launch_environment
from fsdpwiz.render.torchrun import torchrun_environment
from fsdpwiz.render.training_arguments import training_arguments
from tests.contract.upstream import environment
from tests.plan.recipes import cpu, cuda, make_facts, make_plan

pytestmark = pytest.mark.slow

SFT: tuple[dict[str, Any], ...] = (
    {},
    {"max_length": None, "packing": False, "learning_rate": 1e-3, "max_steps": 7},
    {"packing": True, "max_length": 512, "per_device_train_batch_size": 3, "gradient_accumulation_steps": 5},
    {
        "save_steps": 20,
        "save_total_limit": 2,
        "push_to_hub": True,
        "hub_model_id": "me/model",
        "optim": "sgd",
    },
    {"lr_scheduler_type": "cosine", "warmup_steps": 3, "seed": 7, "report_to": ["tensorboard"]},
    {"eval_strategy": "steps", "eval_steps": 5, "average_tokens_across_devices": False, "loss_type": "dft"},
)
WORLDS: tuple[dict[str, Any], ...] = (
    {"cluster": cpu(2)},
    {"cluster": cpu(2), "fsdp": {"activation_checkpointing": False}},
    {"cluster": cpu(2), "fsdp": {"version": 1}},
    {"cluster": cpu(2), "fsdp": None},
    {"cluster": cpu(2), "mixed_precision": "bf16"},
    {"cluster": cpu(1)},
    {"cluster": cpu(1), "fsdp": {"activation_checkpointing": False}},
    {"cluster": cpu(2), "process_group_timeout_s": 77},
    {"cluster": cuda(8)},
    {"cluster": cuda(8), "mixed_precision": "fp16"},
)


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_config_is_the_plan(world: dict[str, Any], tmp_path: Path) -> None:
    for sft in SFT:
        plan = make_plan(make_facts(gpus=8), **world, sft=sft)
        config = built_config(plan, tmp_path)
        assert_config(plan, config)


def built_config(plan: Plan, folder: Path) -> Any:
    """SFTConfig on this machine; a plan for GPUs is built with `use_cpu`, as there may be none."""
    from accelerate.state import AcceleratorState
    from trl import SFTConfig

    arguments = {**training_arguments(plan), "output_dir": str(folder), "use_cpu": True}
    variables = {**launch_environment(plan, os.environ), **torchrun_environment(plan)}
    with environment(variables), warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        AcceleratorState._reset_state(reset_partial_state=True)
        config = SFTConfig(**arguments)
        config.mixed_precision_seen = config.mixed_precision
    AcceleratorState._reset_state(reset_partial_state=True)
    return config


def assert_config(plan: Plan, config: Any) -> None:
    shown = {setting.name: setting.value for setting in effective(plan).training_arguments}
    for name, value in shown.items():
        if name in ("use_cpu", "report_to"):
            continue
        assert plain(getattr(config, name)) == value, name
    expected_reports = shown["report_to"]
    assert config.report_to == ([] if expected_reports == "none" else expected_reports)
    assert config.mixed_precision_seen == plan.mixed_precision
    assert config.per_device_train_batch_size == plan.batch.micro
    assert config.gradient_accumulation_steps == plan.batch.accumulation
    assert config.ddp_timeout == plan.process_group_timeout_s
    assert config.activation_checkpointing == config.gradient_checkpointing
    assert config.activation_checkpointing == (plan.fsdp is None and plan.training["gradient_checkpointing"])
    assert config.save_total_limit is None
    assert not config.push_to_hub
    assert not config.fsdp and config.fsdp_plugin_args is None and config.parallelism_config is None


def plain(value: Any) -> Any:
    return value.value if hasattr(value, "value") and hasattr(value, "name") else value
