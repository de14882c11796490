"""Which decision of the plan stands behind a name in the YAML, the environment or the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.fsdp_settings import SETTINGS

_YAML_KEYS = {
    "distributed_type": "world.distributed_type",
    "mixed_precision": "mixed_precision",
    "num_machines": "world.nodes",
    "num_processes": "world.world_size",
    "use_cpu": "world.device",
}
_VARIABLES = {
    "ACCELERATE_MIXED_PRECISION": "mixed_precision",
    "ACCELERATE_USE_FSDP": "world.distributed_type",
    "ACCELERATE_USE_PARALLELISM_CONFIG": "world.mesh",
    "ACCELERATE_USE_CPU": "world.device",
    "ACCELERATE_TORCH_DEVICE": "world.device",
    "GLIBC_TUNABLES": "world.device",
    **{setting.variable: f"fsdp.{setting.key}" for setting in SETTINGS},
}
_ARGUMENTS = {"use_cpu": "world.device", "ddp_timeout": "process_group_timeout_s"}
_OF_THE_WRAP_POLICY = frozenset({"fsdp.transformer_layer_cls_to_wrap", "fsdp.min_num_params"})
_PLUGIN_FIELDS = {
    "mixed_precision_policy": "mixed_precision",
    **{setting.plugin_field: f"fsdp.{setting.key}" for setting in SETTINGS},
}


def key_of_yaml(name: str) -> str | None:
    """The plan key behind a dotted key of accelerate.yaml; None for what is the same in every run."""
    section, _, key = name.rpartition(".")
    if section == "fsdp_config":
        return f"fsdp.{key.removeprefix('fsdp_')}"
    if section == "parallelism_config":
        return f"parallelism.{key.removeprefix('parallelism_config_')}"
    return _YAML_KEYS.get(name)


def key_of_variable(plan: Plan, name: str) -> str | None:
    """The plan key behind a variable of a rank's environment."""
    if name in plan.env:
        return f"env.{name}"
    if name.startswith("PARALLELISM_CONFIG_"):
        return f"parallelism.{name.removeprefix('PARALLELISM_CONFIG_').lower()}"
    return _VARIABLES.get(name)


def key_of_plugin_field(plan: Plan, name: str) -> str | None:
    """The plan key behind a field of the plugin; None for what no key reaches.

    A field without a key of its own is empty because of the wrap policy or the version of FSDP.
    """
    key = _PLUGIN_FIELDS.get(name)
    if key is None or key in plan.origins:
        return key
    return "fsdp.auto_wrap_policy" if key in _OF_THE_WRAP_POLICY else "fsdp.version"


def key_of_argument(plan: Plan, name: str) -> str | None:
    """The plan key behind a training argument."""
    if name == "activation_checkpointing":
        return f"{plan.method}.gradient_checkpointing"
    key = _ARGUMENTS.get(name, f"{plan.method}.{name}")
    return key if origin_of(plan, key) is not None else None


def origin_of(plan: Plan, key: str | None) -> dict[str, Any] | None:
    """The origin of a plan key, or of the nearest section above it that has one."""
    while key:
        if key in plan.origins:
            return plan.origins[key]
        key = key.rpartition(".")[0]
    return None


def origin_text(origin: Mapping[str, Any] | None) -> str:
    """An origin in a few words, e.g. "recipe.yaml:12" or "default of trl 1.16.0"."""
    if origin is None:
        return "the same in every run"
    source, by, file, line = (origin.get(name) for name in ("source", "by", "file", "line"))
    if file:
        place = f"{file}:{line}" if line else str(file)
        return place if source == "recipe" else f"{source}, {place}"
    joint = {"default": "default of", "derived": "follows from"}.get(str(source), f"{source}:")
    return f"{joint} {by}" if by else str(source)
