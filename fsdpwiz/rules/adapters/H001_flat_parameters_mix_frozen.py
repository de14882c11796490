"""Frozen and trained weights in one flat parameter

## What

LoRA under FSDP1 with `fsdp.use_orig_params: false`.

## Why

FSDP1 then joins all weights of a block into one flat parameter, which is trained whole or not at all. torch
refuses blocks that mix trained and frozen weights.

## Example

    fsdp: {version: 1, use_orig_params: false}
    peft: {r: 16}

## How to fix

Set `use_orig_params: true`, or leave it out.

## When to ignore

Never: it fails in every rank.

## References

torch, `FlatParamHandle`: uniform `requires_grad`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "flat-parameters-mix-frozen"
SEVERITY = "error"

_KEY = "fsdp.use_orig_params"


def check(plan: Plan) -> Iterator[Found]:
    mixed = plan.peft is not None and (plan.fsdp or {}).get("use_orig_params") is False
    if plan.world.distributed_type == "FSDP1" and mixed:
        fix = Fix(title="keep the original parameters", edits={_KEY: True}, safety="safe")
        yield Found(message=f"`{_KEY}: false` joins LoRA's weights with frozen ones", key=_KEY, fixes=(fix,))
