"""Loading on rank 0 under FSDP1 on CPU

## What

`model.loading: rank0` with FSDP1 and `cluster.device: cpu`.

## Why

Rank 0 would load the weights and broadcast them by `sync_module_states`, which wants an accelerator:
accelerate raises "There are currently no available devices found" in every rank.

## Example

    cluster: {device: cpu}
    fsdp: {version: 1}
    model: {loading: rank0}

## How to fix

Set `model.loading: every_rank`, or leave it out. FSDP2 loads on rank 0 on CPU too.

## When to ignore

Never: it fails in every rank.

## References

torch, `_init_utils.py`: no CPU parameters with `sync_module_states`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "rank0-load-on-cpu"
SEVERITY = "error"

_KEY = "model.loading"


def check(plan: Plan) -> Iterator[Found]:
    world = plan.world
    if world.device == "cpu" and world.distributed_type == "FSDP1" and plan.model.loading == "rank0":
        fix = Fix(title="load on every rank", edits={_KEY: "every_rank"}, safety="safe")
        yield Found(message=f"`{_KEY}: rank0` does not work under FSDP1 on CPU", key=_KEY, fixes=(fix,))
