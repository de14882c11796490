"""The environment that `accelerate launch` gives its ranks."""
from __future__ import annotations
from typing import Any

def launched_environment(plan: Any) -> dict[str, str]:
    env = {"ACCELERATE_MIXED_PRECISION": plan.mixed_precision, "OMP_NUM_THREADS": "1"}
    if plan.fsdp:
        env["ACCELERATE_USE_FSDP"] = "true"
        names = {"transformer_layer_cls_to_wrap": "TRANSFORMER_CLS_TO_WRAP"}
        for key, value in plan.fsdp.items():
            if value is None: continue
            env["FSDP_" + names.get(key, key.upper())] = str(value).lower() if isinstance(value, bool) else str(value)
    if plan.parallelism:
        env["ACCELERATE_USE_PARALLELISM_CONFIG"] = "true"
        for key, value in plan.parallelism.items():
            env["PARALLELISM_CONFIG_" + key.upper()] = str(value)
    return env
