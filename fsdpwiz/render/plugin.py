"""The plugin and the mesh that a rank's environment makes in Accelerate, worked out without torch."""

from __future__ import annotations

from typing import Any

from fsdpwiz.plan.types import Plan

COMPUTE_DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
_WRAP_FUNCTIONS = {
    "TRANSFORMER_BASED_WRAP": "transformer_auto_wrap_policy",
    "SIZE_BASED_WRAP": "size_based_auto_wrap_policy",
}


def plugin(plan: Plan) -> dict[str, Any] | None:
    """Every field of the FullyShardedDataParallelPlugin of a rank that has a plain value, None without FSDP.

    Enumerations are their names; `cpu_offload` is whether parameters are offloaded; the mixed
    precision policy is a mapping of dtypes.
    """
    section = plan.fsdp
    if section is None:
        return None
    version, policy = section["version"], section["auto_wrap_policy"]
    classes = section.get("transformer_layer_cls_to_wrap") if policy == "TRANSFORMER_BASED_WRAP" else None
    return {
        "fsdp_version": version,
        **(_version_1(section) if version == 1 else _version_2(section)),
        "cpu_offload": section["offload_params"],
        "auto_wrap_policy": _WRAP_FUNCTIONS.get(policy),
        "transformer_cls_names_to_wrap": classes.split(",") if classes else None,
        "min_num_params": section.get("min_num_params") if policy == "SIZE_BASED_WRAP" else None,
        "state_dict_type": section["state_dict_type"],
        "cpu_ram_efficient_loading": section["cpu_ram_efficient_loading"],
        "activation_checkpointing": section["activation_checkpointing"],
        "ignored_modules": section.get("ignored_modules"),
        "limit_all_gathers": True,
        "mixed_precision_policy": _mixed_precision_policy(plan, version),
    }


def parallelism(plan: Plan) -> dict[str, Any] | None:
    """The sizes of the ParallelismConfig of a rank, None where the plan has no mesh of its own."""
    return None if plan.parallelism is None else dict(plan.parallelism)


def _version_1(section: dict[str, Any]) -> dict[str, Any]:
    prefetch = section["backward_prefetch"]
    return {
        "sharding_strategy": section["sharding_strategy"],
        "reshard_after_forward": None,
        "backward_prefetch": None if prefetch == "NO_PREFETCH" else prefetch,
        "forward_prefetch": section["forward_prefetch"],
        "use_orig_params": section["use_orig_params"],
        "sync_module_states": section["sync_module_states"],
        "activation_checkpointing_offload": False,
    }


def _version_2(section: dict[str, Any]) -> dict[str, Any]:
    return {
        "sharding_strategy": None,
        "reshard_after_forward": section["reshard_after_forward"],
        "backward_prefetch": None,
        "forward_prefetch": None,
        "use_orig_params": None,
        "sync_module_states": None,
        "activation_checkpointing_offload": section["activation_checkpointing_offload"],
    }


def _mixed_precision_policy(plan: Plan, version: int) -> dict[str, str] | None:
    """Accelerate sets all dtypes to the one computed in; `trainer_settings` has what the trainer changes."""
    compute = COMPUTE_DTYPES.get(plan.mixed_precision)
    if compute is None:
        return None
    third = "buffer_dtype" if version == 1 else "output_dtype"
    return {"param_dtype": compute, "reduce_dtype": compute, third: compute}
