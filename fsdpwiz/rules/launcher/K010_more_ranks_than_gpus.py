"""More ranks than GPUs

## What

With `launcher: local` the recipe asks for more GPUs per node than this machine has; or for GPUs where there
is none.

## Why

A rank without a card of its own fails with "invalid device ordinal" or shares another rank's card, and NCCL
refuses two ranks on one card. `run` stops; the other verbs warn, so that a recipe for a large machine can
be checked on a small one.

## Example

    cluster: {device: cuda, nodes: 1, gpus_per_node: 8}     # on a machine with 2

## How to fix

Set `cluster.gpus_per_node` to the number of GPUs here, or remove `cluster`, which is then filled from this
machine. Run elsewhere, or set `cluster: {device: cpu}`. `CUDA_VISIBLE_DEVICES` may hide cards.

## When to ignore

Never for `run`.

## References

nccl#1066
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix, Quantity
from fsdpwiz.facts.types import Gpus
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import counted

NAME = "more-ranks-than-gpus"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "warning"


def check(gpus: Gpus, plan: Plan) -> Iterator[Found]:
    if plan.launcher != "local" or plan.world.device != "cuda" or gpus.source != "measured":
        return
    here, asked = len(gpus.cards), plan.world.ranks_per_node
    if asked <= here:
        return
    wants = f"`cluster` asks for {counted(asked, 'GPU')} per node"
    key = "cluster.gpus_per_node" if here else "cluster.device"
    edits = {"cluster.gpus_per_node": here} if here else {"cluster": None}
    title = f"use the {counted(here, 'GPU')} here" if here else "train on this machine's CPU"
    yield Found(
        message=f"{wants}; this machine has {counted(here, 'GPU') if here else 'none'}",
        key=key,
        evidence=(Quantity(name="gpus", value=here, unit="GPUs", source="NVML"),),
        fixes=(Fix(title=title, edits=edits, safety="unsafe"),),
    )
