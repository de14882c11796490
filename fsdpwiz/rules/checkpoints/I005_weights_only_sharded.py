"""Weights alone in sharded checkpoints

## What

`sft.save_only_model` with `fsdp.state_dict_type: SHARDED_STATE_DICT`, the default of FSDP2.

## Why

The Trainer refuses it in every rank.

## Example

    sft: {save_only_model: true}

## How to fix

Remove `save_only_model`; the model at the end is exported anyway, and `save_total_limit: 1` keeps the disk
small. Or set `state_dict_type: FULL_STATE_DICT`.

## When to ignore

Never: it fails in every rank.

## References

transformers, `trainer.py`: "save_only_model option is not compatible with FSDP state dict type
'SHARDED_STATE_DICT'".
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "weights-only-sharded"
SEVERITY = "error"


def check(plan: Plan) -> Iterator[Found]:
    sharded = (plan.fsdp or {}).get("state_dict_type") == "SHARDED_STATE_DICT"
    if (
        plan.world.distributed_type in ("FSDP1", "FSDP2")
        and sharded
        and plan.training.get("save_only_model") is True
    ):
        key = f"{plan.method}.save_only_model"
        fix = Fix(title="save the optimizer too", edits={key: None}, safety="unsafe")
        yield Found(message=f"`{key}` does not work with sharded checkpoints", key=key, fixes=(fix,))
