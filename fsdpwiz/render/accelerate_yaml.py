"""The file that `accelerate launch --config_file` reads."""

from __future__ import annotations

from typing import Any

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.fsdp_settings import decided
from fsdpwiz.render.yaml_text import scalar

_HEAD = """\
# Accelerate's part of the run `{name}`. Written by fsdpwiz from the recipe: change the recipe, not this file.
# The machine's rank, the rendezvous' address and port and the threads of a rank are not in here: they are
# flags and variables of the launch command, since Accelerate ignores them in this file or shares them
# between machines.
"""
_COMMENTS: dict[str, dict[Any, str]] = {
    "distributed_type": {
        "MULTI_GPU": "all weights on every rank; also on CPU, where MULTI_CPU starts one process"
    },
    "mixed_precision": {"no": "quoted: YAML reads a bare no as false, and the launcher fails on that"},
    "fsdp_sharding_strategy": {None: "under fsdp_reshard_after_forward FSDP1 would not see it"},
    "use_cpu": {True: "under FSDP only ACCELERATE_USE_CPU in the ranks' environment has this effect"},
}
_DISTRIBUTED_TYPES = {"FSDP1": "FSDP", "FSDP2": "FSDP", "DDP": "MULTI_GPU", "NO": "NO"}


def accelerate_config(plan: Plan) -> dict[str, Any]:
    """The file's content as plain values."""
    config: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "distributed_type": _DISTRIBUTED_TYPES[plan.world.distributed_type],
        "downcast_bf16": "no",
        "main_training_function": "main",
        "mixed_precision": plan.mixed_precision,
        "num_machines": plan.world.nodes,
        "num_processes": plan.world.world_size,
        "use_cpu": plan.world.device == "cpu",
    }
    if plan.fsdp is not None:
        config["fsdp_config"] = {setting.yaml_key: value for setting, value in decided(plan)}
    if plan.parallelism is not None:
        sizes = plan.parallelism
        config["parallelism_config"] = {f"parallelism_config_{key}": value for key, value in sizes.items()}
    return config


def accelerate_yaml(plan: Plan) -> str:
    """The file's text, with the reasons for what is easily got wrong."""
    lines = [_HEAD.format(name=scalar(plan.name)).rstrip("\n")]
    for key, value in accelerate_config(plan).items():
        if isinstance(value, dict):
            lines.append(f"{key}:")
            lines.extend(f"  {_entry(name, held)}" for name, held in value.items())
        else:
            lines.append(_entry(key, value))
    return "\n".join(lines) + "\n"


def _entry(key: str, value: Any) -> str:
    comments = _COMMENTS.get(key, {})
    comment = comments.get(value, comments.get(None))
    return f"{key}: {scalar(value)}" + (f"  # {comment}" if comment else "")
