"""An 8-bit optimizer of bitsandbytes under FSDP

## What

`sft.optim` is one of bitsandbytes' 8-bit optimizers, and the run is sharded.

## Why

Under FSDP2 its kernels read the shards' memory as if it were whole: an illegal memory access. Under FSDP1
it trains, but its state cannot be saved properly.

## Example

    sft: {optim: adamw_bnb_8bit}

## How to fix

`sft.optim: adamw_torch_8bit` (torchao) knows sharded tensors under FSDP2; `adamw_torch_fused` always works.

## When to ignore

Under FSDP1, when nobody will resume from a checkpoint.

## References

bitsandbytes#1633, bitsandbytes#89
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "optimizer-not-shardable"
SEVERITY = "error"

_OPTIMIZERS = frozenset(
    {
        "adamw_bnb_8bit", "adamw_8bit", "lion_8bit", "paged_adamw_8bit", "paged_lion_8bit",
        "rmsprop_bnb_8bit", "ademamix_8bit", "paged_ademamix_8bit",
    }
)  # fmt: skip


def check(plan: Plan) -> Iterator[Found]:
    optimizer, kind = plan.training.get("optim"), plan.world.distributed_type
    if optimizer not in _OPTIMIZERS or kind not in ("FSDP1", "FSDP2"):
        return
    key = f"{plan.method}.optim"
    yield Found(
        message=f"`{key}: {optimizer}` cannot work on sharded parameters",
        key=key,
        severity="error" if kind == "FSDP2" else "warning",
        fixes=(Fix(title="take torch's AdamW", edits={key: "adamw_torch_fused"}, safety="unsafe"),),
    )
