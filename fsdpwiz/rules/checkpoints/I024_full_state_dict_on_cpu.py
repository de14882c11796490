"""A full state dict under FSDP1 on CPU

## What

`fsdp.state_dict_type: FULL_STATE_DICT` with FSDP1 and `cluster.device: cpu`.

## Why

torch does not copy the gathered weights when they are on the CPU already, then frees them: rank 0 dies of a
segmentation fault in the first save. Accelerate leaves no way around it.

## Example

    cluster: {device: cpu}
    fsdp: {version: 1, state_dict_type: FULL_STATE_DICT}

## How to fix

Set `SHARDED_STATE_DICT`: the model is exported from the shards. Or use FSDP2.

## When to ignore

Never: rank 0 crashes.

## References

torch, `FullStateDictConfig(offload_to_cpu=True)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "full-state-dict-on-cpu"
SEVERITY = "error"

_KEY = "fsdp.state_dict_type"


def check(plan: Plan) -> Iterator[Found]:
    full = (plan.fsdp or {}).get("state_dict_type") == "FULL_STATE_DICT"
    if plan.world.device == "cpu" and plan.world.distributed_type == "FSDP1" and full:
        fix = Fix(title="save sharded", edits={_KEY: "SHARDED_STATE_DICT"}, safety="safe")
        yield Found(
            message=f"`{_KEY}: FULL_STATE_DICT` crashes rank 0 under FSDP1 on CPU", key=_KEY, fixes=(fix,)
        )
