"""Offload under FSDP1 on CPU

## What

`fsdp.offload_params` with FSDP1 and `cluster.device: cpu`.

## Why

FSDP1 pins the offloaded parameters for the copy to a GPU: "Cannot access accelerator device when none is
available" in every rank. There is nothing to offload from either.

## Example

    cluster: {device: cpu}
    fsdp: {version: 1, offload_params: true}

## How to fix

Remove `offload_params` on CPU, or use FSDP2, which keeps them unpinned there.

## When to ignore

Never: it fails in every rank.

## References

torch, `CPUOffload`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "offload-under-fsdp1-on-cpu"
SEVERITY = "error"

_KEY = "fsdp.offload_params"


def check(plan: Plan) -> Iterator[Found]:
    world = plan.world
    if (
        world.device == "cpu"
        and world.distributed_type == "FSDP1"
        and (plan.fsdp or {}).get("offload_params")
    ):
        fix = Fix(title="do not offload", edits={_KEY: None}, safety="safe")
        yield Found(message=f"`{_KEY}` does not work under FSDP1 on CPU", key=_KEY, fixes=(fix,))
