"""Activations offloaded that are not checkpointed

## What

`fsdp.activation_checkpointing_offload` without `activation_checkpointing`, or with FSDP1.

## Why

Accelerate offloads what the checkpoints of FSDP2's blocks keep. Without them it raises in every rank.

## Example

    fsdp: {activation_checkpointing_offload: true}

## How to fix

Set `fsdp.activation_checkpointing: true` as well, with `version: 2`.

## When to ignore

Never: it fails in every rank.

## References

accelerate, `utils/dataclasses.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "offload-without-checkpointing"
SEVERITY = "error"

_KEY, _NEEDED = "fsdp.activation_checkpointing_offload", "fsdp.activation_checkpointing"


def check(plan: Plan) -> Iterator[Found]:
    fsdp, kind = plan.fsdp or {}, plan.world.distributed_type
    if not fsdp.get("activation_checkpointing_offload") or kind not in ("FSDP1", "FSDP2"):
        return
    if kind == "FSDP1":
        fix = Fix(title=f"remove `{_KEY}`", edits={_KEY: None}, safety="unsafe")
        yield Found(message=f"`{_KEY}` needs FSDP2", key=_KEY, fixes=(fix,))
    elif not fsdp.get("activation_checkpointing"):
        fix = Fix(title="checkpoint activations", edits={_NEEDED: True}, safety="unsafe")
        yield Found(message=f"`{_KEY}` needs `{_NEEDED}: true`", key=_KEY, fixes=(fix,))
