"""A local state dict

## What

`fsdp.state_dict_type: LOCAL_STATE_DICT`.

## Why

FSDP2 has none: every rank fails in the first save. FSDP1 writes one, but only the same number of ranks can
read it, no part exports a model from it, and a run without a model is a failed run.

## Example

    fsdp: {version: 2, state_dict_type: LOCAL_STATE_DICT}

## How to fix

Set `SHARDED_STATE_DICT`, or leave it out.

## When to ignore

Never.

## References

accelerate, `utils/fsdp_utils.py`; torch, `StateDictType`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "local-state-dict"
SEVERITY = "error"

_KEY = "fsdp.state_dict_type"


def check(plan: Plan) -> Iterator[Found]:
    kind = plan.world.distributed_type
    if kind in ("FSDP1", "FSDP2") and (plan.fsdp or {}).get("state_dict_type") == "LOCAL_STATE_DICT":
        why = "FSDP2 has none" if kind == "FSDP2" else "no model can be exported from it"
        fix = Fix(title="save sharded", edits={_KEY: "SHARDED_STATE_DICT"}, safety="safe")
        yield Found(message=f"`{_KEY}: LOCAL_STATE_DICT` does not work: {why}", key=_KEY, fixes=(fix,))
