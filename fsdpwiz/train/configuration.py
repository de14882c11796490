"""The method's upstream config (for `sft` an SFTConfig) of the plan."""

from __future__ import annotations

from typing import Any

from fsdpwiz.methods.method import methods
from fsdpwiz.plan.types import Plan
from fsdpwiz.render.training_arguments import training_arguments
from fsdpwiz.runs.layout import RunFolder
from fsdpwiz.train import cpu_fsdp
from fsdpwiz.train.trainer import imported


def configuration(plan: Plan, folder: RunFolder) -> Any:
    """The config object; building it makes the process group where none is there yet."""
    arguments: dict[str, Any] = {**training_arguments(plan), "output_dir": str(folder.checkpoints)}
    if plan.world.device == "cpu":
        arguments |= cpu_fsdp.training_arguments()
    return imported(methods()[plan.method].config_class)(**arguments)
