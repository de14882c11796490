"""Activation checkpointing asked for twice

## What

The Trainer's activation checkpointing (`sft.gradient_checkpointing`) is on beside
`fsdp.activation_checkpointing`.

## Why

The Trainer raises a ValueError in every rank. TRL turns its own on by default, so that this is the first
thing a stock FSDP file meets; fsdpwiz turns it off under FSDP, and one key is left:
`fsdp.activation_checkpointing`.

## Example

    sft: {gradient_checkpointing: true}
    fsdp: {activation_checkpointing: true}

## How to fix

Keep `fsdp.activation_checkpointing`.

## When to ignore

Never: it fails in every rank.

## References

transformers, `trainer.py`: the two "can't both be set to True".
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "checkpointed-twice"
SEVERITY = "error"

_KEYS = ("gradient_checkpointing", "activation_checkpointing")


def word(problem: Problem) -> Found:
    return _found(str(problem.key))


def check(plan: Plan) -> Iterator[Found]:
    if plan.world.distributed_type not in ("FSDP1", "FSDP2") or not (plan.fsdp or {}).get(
        "activation_checkpointing"
    ):
        return
    for name in _KEYS:
        if plan.training.get(name) is True:
            yield _found(f"{plan.method}.{name}")


def _found(key: str) -> Found:
    fix = Fix(title=f"remove `{key}`", edits={key: None}, safety="safe")
    return Found(message=f"`{key}` is on beside `fsdp.activation_checkpointing`", key=key, fixes=(fix,))
