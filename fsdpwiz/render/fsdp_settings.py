"""One table of FSDP settings: where each stands in the plan, the YAML, the environment and the plugin.

Accelerate loses a key that is spelt otherwise than its launcher reads it, or that the other
version of FSDP owns, without a word; so every name is written once, here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fsdpwiz.plan.types import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class FsdpSetting:
    """A key of the plan's `fsdp` section; the YAML key is the same with the prefix `fsdp_`."""

    key: str
    variable: str
    plugin_field: str
    versions: tuple[int, ...] = (1, 2)

    @property
    def yaml_key(self) -> str:
        return f"fsdp_{self.key}"


SETTINGS = (
    FsdpSetting(key="version", variable="FSDP_VERSION", plugin_field="fsdp_version"),
    FsdpSetting(
        key="sharding_strategy",
        variable="FSDP_SHARDING_STRATEGY",
        plugin_field="sharding_strategy",
        versions=(1,),
    ),
    FsdpSetting(
        key="reshard_after_forward",
        variable="FSDP_RESHARD_AFTER_FORWARD",
        plugin_field="reshard_after_forward",
        versions=(2,),
    ),
    FsdpSetting(key="offload_params", variable="FSDP_OFFLOAD_PARAMS", plugin_field="cpu_offload"),
    FsdpSetting(key="auto_wrap_policy", variable="FSDP_AUTO_WRAP_POLICY", plugin_field="auto_wrap_policy"),
    FsdpSetting(
        key="transformer_layer_cls_to_wrap",
        variable="FSDP_TRANSFORMER_CLS_TO_WRAP",
        plugin_field="transformer_cls_names_to_wrap",
    ),
    FsdpSetting(key="min_num_params", variable="FSDP_MIN_NUM_PARAMS", plugin_field="min_num_params"),
    FsdpSetting(
        key="backward_prefetch",
        variable="FSDP_BACKWARD_PREFETCH",
        plugin_field="backward_prefetch",
        versions=(1,),
    ),
    FsdpSetting(
        key="forward_prefetch",
        variable="FSDP_FORWARD_PREFETCH",
        plugin_field="forward_prefetch",
        versions=(1,),
    ),
    FsdpSetting(key="state_dict_type", variable="FSDP_STATE_DICT_TYPE", plugin_field="state_dict_type"),
    FsdpSetting(
        key="use_orig_params", variable="FSDP_USE_ORIG_PARAMS", plugin_field="use_orig_params", versions=(1,)
    ),
    FsdpSetting(
        key="cpu_ram_efficient_loading",
        variable="FSDP_CPU_RAM_EFFICIENT_LOADING",
        plugin_field="cpu_ram_efficient_loading",
    ),
    FsdpSetting(
        key="sync_module_states",
        variable="FSDP_SYNC_MODULE_STATES",
        plugin_field="sync_module_states",
        versions=(1,),
    ),
    FsdpSetting(
        key="activation_checkpointing",
        variable="FSDP_ACTIVATION_CHECKPOINTING",
        plugin_field="activation_checkpointing",
    ),
    FsdpSetting(
        key="activation_checkpointing_offload",
        variable="FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD",
        plugin_field="activation_checkpointing_offload",
        versions=(2,),
    ),
    FsdpSetting(key="ignored_modules", variable="FSDP_IGNORED_MODULES", plugin_field="ignored_modules"),
)


def decided(plan: Plan) -> tuple[tuple[FsdpSetting, Any], ...]:
    """The settings that the plan's version of FSDP has, with the plan's value; None is left out."""
    section = plan.fsdp or {}
    version = section.get("version")
    found = ((setting, section.get(setting.key)) for setting in SETTINGS if version in setting.versions)
    return tuple((setting, value) for setting, value in found if value is not None)
