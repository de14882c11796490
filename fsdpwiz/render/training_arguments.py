"""The keyword arguments of the method's upstream config."""

from __future__ import annotations

from typing import Any

from fsdpwiz.plan.types import Plan


def training_arguments(plan: Plan) -> dict[str, Any]:
    """What the ranks build their config of, without `output_dir`.

    Not the plan's `save_total_limit` and hub keys: old checkpoints are deleted once a newer one is
    complete, and only the verified model is pushed. FSDP and the mesh come by the environment.
    """
    arguments = {key: value for key, value in plan.training.items() if not _is_ours(key)}
    checkpointing = arguments.pop("gradient_checkpointing", False)
    return {
        **arguments,
        "activation_checkpointing": checkpointing,
        "use_cpu": plan.world.device == "cpu",
        "ddp_timeout": plan.process_group_timeout_s,
        "save_total_limit": None,
        "push_to_hub": False,
        "disable_tqdm": plan.training.get("disable_tqdm", True),
    }


def _is_ours(key: str) -> bool:
    return key == "push_to_hub" or key.startswith("hub_")
