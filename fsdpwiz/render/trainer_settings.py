"""What the trainer sets itself, which no key of Accelerate's YAML or of the training arguments reaches."""

from __future__ import annotations

from typing import Any

from fsdpwiz.plan.types import Plan


def trainer_settings(plan: Plan) -> dict[str, tuple[Any, str]]:
    """Name to (value, the plan key behind it); empty where a script of one's own trains.

    `mixed_precision_policy.*` replaces those fields of the plugin's policy: gradients are summed in
    `reduce_dtype`, and under FSDP2 what the model returns keeps its precision (null) instead of being
    rounded to the compute dtype, the log-probabilities of the loss among it.
    """
    if plan.script is not None:
        return {}
    settings: dict[str, tuple[Any, str]] = {
        "model loading": (plan.model.loading, "model.loading"),
        "dtype of trained weights": (plan.model.trainable_dtype, "model.trainable_dtype"),
        "dtype of frozen weights": (plan.model.dtype, "model.dtype"),
    }
    if plan.reduce_dtype is not None and plan.fsdp is not None:
        settings["mixed_precision_policy.reduce_dtype"] = (plan.reduce_dtype, "reduce_dtype")
    if plan.world.distributed_type == "FSDP2" and plan.mixed_precision != "no":
        settings["mixed_precision_policy.output_dtype"] = (None, "mixed_precision")
    limit = f"{plan.method}.save_total_limit"
    return {
        **settings,
        "checkpoints kept": (plan.training.get("save_total_limit"), limit),
        "checkpoint mode": (plan.checkpoint.mode, "checkpoint.mode"),
        "dtype of the exported model": (plan.checkpoint.export_dtype, "checkpoint.export_dtype"),
        "push of the verified model": (bool(plan.training.get("push_to_hub")), f"{plan.method}.push_to_hub"),
    }
