"""float16 where bfloat16 would do

## What

`mixed_precision: fp16` under FSDP on cards that have bfloat16.

## Why

float16 overflows, so the loss must be scaled, steps are skipped, and a scaler that knows of shards is
needed. bfloat16 has the range of float32 and needs none of that.

## Example

    mixed_precision: fp16

## How to fix

Set `mixed_precision: bf16`.

## When to ignore

Where a former run in float16 is to be reproduced.

## References

torch, `ShardedGradScaler`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.facts.types import Gpus
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "fp16-under-fsdp"
SEVERITY = "warning"

_BF16_CAPABILITY = (8, 0)


def check(gpus: Gpus, plan: Plan) -> Iterator[Found]:
    if plan.mixed_precision != "fp16" or plan.world.device != "cuda" or plan.fsdp is None:
        return
    capabilities = [card.compute_capability for card in gpus.cards]
    if capabilities and all(found is not None and tuple(found) >= _BF16_CAPABILITY for found in capabilities):
        fix = Fix(title="compute in bf16", edits={"mixed_precision": "bf16"}, safety="unsafe")
        message = "`mixed_precision: fp16` overflows where bf16, which these cards have, does not"
        yield Found(message=message, key="mixed_precision", fixes=(fix,))
