"""The `fsdp` section with every key decided, for either version."""

from __future__ import annotations

from typing import Any

from fsdpwiz.facts.types import Facts
from fsdpwiz.plan.choices import OURS, Choices
from fsdpwiz.plan.types import DistributedType
from fsdpwiz.plan.wrapping import decide_units

STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")


def decide_fsdp(
    choices: Choices, facts: Facts, kind: DistributedType, device: str
) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """The pinned `fsdp` section, without what follows from `model.loading`, and the wrapped classes."""
    if kind not in ("FSDP1", "FSDP2"):
        choices.derive("fsdp", None, f"world.distributed_type {kind}")
        choices.derive("units", (), f"world.distributed_type {kind}")
        return None, ()
    version = 1 if kind == "FSDP1" else 2
    choices.choose("fsdp.version", version, by=OURS)
    section: dict[str, Any] = {"version": version}
    section.update(_version_1(choices, device) if version == 1 else _version_2(choices))
    section.update(_both(choices))
    units = decide_units(choices, facts, section["auto_wrap_policy"])
    section["transformer_layer_cls_to_wrap"] = ",".join(units) or None
    return section, units


def _both(choices: Choices) -> dict[str, Any]:
    policy = choices.choose("fsdp.auto_wrap_policy", "TRANSFORMER_BASED_WRAP", by=OURS)
    section = {
        "offload_params": choices.choose("fsdp.offload_params", False, by=choices.library("accelerate")),
        "auto_wrap_policy": policy,
        "activation_checkpointing": choices.choose(
            "fsdp.activation_checkpointing", True, by=choices.library("trl")
        ),
        "ignored_modules": choices.choose("fsdp.ignored_modules", None, by=choices.library("accelerate")),
    }
    if policy == "SIZE_BASED_WRAP":
        size = choices.choose("fsdp.min_num_params", 100_000_000, by=choices.library("accelerate"))
        section["min_num_params"] = int(size)
    return section


def _version_2(choices: Choices) -> dict[str, Any]:
    accelerate = choices.library("accelerate")
    return {
        "reshard_after_forward": choices.choose("fsdp.reshard_after_forward", True, by=accelerate),
        "state_dict_type": choices.choose("fsdp.state_dict_type", "SHARDED_STATE_DICT", by=accelerate),
        "activation_checkpointing_offload": choices.choose(
            "fsdp.activation_checkpointing_offload", False, by=accelerate
        ),
    }


def _version_1(choices: Choices, device: str) -> dict[str, Any]:
    """FSDP1 resumes its optimizer only from FULL_STATE_DICT, which CPU tensors do not survive."""
    accelerate, torch = choices.library("accelerate"), choices.library("torch")
    full = "FULL_STATE_DICT" if device == "cuda" else "SHARDED_STATE_DICT"
    return {
        "sharding_strategy": _strategy(choices.choose("fsdp.sharding_strategy", "FULL_SHARD", by=accelerate)),
        "backward_prefetch": choices.choose("fsdp.backward_prefetch", "BACKWARD_PRE", by=torch),
        "forward_prefetch": choices.choose("fsdp.forward_prefetch", False, by=torch),
        "use_orig_params": choices.choose("fsdp.use_orig_params", True, by=f"{accelerate} launch"),
        "state_dict_type": choices.choose("fsdp.state_dict_type", full, by=f"{OURS}: {device}"),
    }


def _strategy(value: Any) -> str:
    """The strategy's name; upstream also takes its number, 1 to 5."""
    number = int(value) if str(value).isdigit() else None
    return STRATEGIES[number - 1] if number is not None and 1 <= number <= len(STRATEGIES) else str(value)
