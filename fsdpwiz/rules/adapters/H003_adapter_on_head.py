"""LoRA on the output head

## What

`peft.target_modules` names `lm_head`.

## Why

TRL computes the loss from the head's weight directly, without building the logits, so an adapter there
would never be trained. TRL refuses it in every rank.

## Example

    peft: {target_modules: [q_proj, v_proj, lm_head]}

## How to fix

Remove `lm_head`. `target_modules: all-linear` leaves the head out. `modules_to_save: [lm_head]` trains it
whole.

## When to ignore

Never: it fails in every rank.

## References

trl, `sft_trainer.py`: "Applying a PEFT adapter to `lm_head` is not supported".
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "adapter-on-head"
SEVERITY = "error"

_KEY = "peft.target_modules"
_HEAD = "lm_head"


def check(recipe: Recipe, plan: Plan) -> Iterator[Found]:
    targets = recipe.value(_KEY)
    if plan.script or not _names_head(targets):
        return
    rest = [name for name in targets if name != _HEAD] if isinstance(targets, (list, tuple)) else None
    fix = Fix(title="leave the head out", edits={_KEY: rest or "all-linear"}, safety="safe")
    yield Found(
        message=f"`{_KEY}` names `{_HEAD}`, whose adapter TRL would never train", key=_KEY, fixes=(fix,)
    )


def _names_head(targets: object) -> bool:
    if isinstance(targets, (list, tuple)):
        return any(str(name).rpartition(".")[2] == _HEAD for name in targets)
    return targets == _HEAD
