"""The variables that `accelerate launch` makes of our YAML, worked out without it."""

from __future__ import annotations

from typing import Any

from fsdpwiz.plan.types import Plan
from fsdpwiz.render.fsdp_settings import decided


def accelerate_environment(plan: Plan) -> dict[str, str]:
    """What decides the plugin, the mesh and the precision of a rank, by variable.

    The launcher exports more: defaults of keys that the plan's version of FSDP does not read.
    """
    variables: dict[str, str] = {"ACCELERATE_MIXED_PRECISION": plan.mixed_precision}
    if plan.fsdp is not None:
        variables["ACCELERATE_USE_FSDP"] = "true"
        variables |= {setting.variable: as_variable(value) for setting, value in decided(plan)}
    if plan.parallelism is not None:
        variables["ACCELERATE_USE_PARALLELISM_CONFIG"] = "true"
        variables |= {
            f"PARALLELISM_CONFIG_{key.upper()}": str(value) for key, value in plan.parallelism.items()
        }
    return variables


def as_variable(value: Any) -> str:
    """A value as text; booleans in lower case, the only form that all of Accelerate's checks take."""
    return str(value).lower() if isinstance(value, bool) else str(value)
