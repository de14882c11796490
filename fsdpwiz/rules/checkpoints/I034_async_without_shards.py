"""An asynchronous checkpoint where none exists

## What

`checkpoint.mode` is `async`, but the run is not FSDP2 with SHARDED_STATE_DICT, or its optimizer changes the
weights outside of its step.

## Why

An asynchronous checkpoint is written from the shards themselves while the next step is computed. A full
state dict has to be gathered first, with every rank waiting; and shards that change between a save and the
next step would be written half old, half new.

## Example

    fsdp: {state_dict_type: FULL_STATE_DICT}
    checkpoint: {mode: async}

## How to fix

Remove the key: the default is `async` wherever it exists. Or let FSDP2 save its shards.

## When to ignore

Never: the value cannot be obeyed.

## References

torch, `torch.distributed.checkpoint`; FSDP2's `get_model_state_dict`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.live_shards import changes_between_steps
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "async-without-shards"
SEVERITY = "error"
SEVERITY_UNLESS_RUN = "warning"

_KEY = "checkpoint.mode"
_FIX = Fix(title=f"remove `{_KEY}`", edits={_KEY: None}, safety="safe")


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    if recipe.value(_KEY) != "async":
        return
    reason = _reason(plan)
    if reason is not None:
        yield Found(message=f"`{_KEY}: async` does not exist here: {reason}", key=_KEY, fixes=(_FIX,))


def _reason(plan: Plan) -> str | None:
    kind, optimizer = plan.world.distributed_type, str(plan.training.get("optim", ""))
    if kind != "FSDP2":
        return f"only FSDP2 has shards that can be written beside a step, the run is {_KINDS[kind]}"
    state_dict_type = (plan.fsdp or {}).get("state_dict_type")
    if state_dict_type != "SHARDED_STATE_DICT":
        return f"`fsdp.state_dict_type: {state_dict_type}` is gathered while every rank waits"
    if changes_between_steps(optimizer):
        return f"`sft.optim: {optimizer}` changes the weights outside of its step"
    return None


_KINDS = {"NO": "one process without FSDP", "DDP": "DDP", "FSDP1": "FSDP1"}
