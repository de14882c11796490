"""4-bit storage that FSDP cannot shard

## What

A 4-bit base under FSDP whose `bnb_4bit_quant_storage` is not the type the model computes in.

## Why

bitsandbytes packs the 4-bit weights into tensors of the storage type. uint8, its default, is left out of
FSDP2's sharding, so every rank keeps the whole base, and breaks FSDP1's flat parameters; any other type
than the compute type mixes dtypes within one unit.

## Example

    quantization: {load_in_4bit: true, bnb_4bit_quant_storage: uint8}

## How to fix

Leave the key out: it then follows `mixed_precision`. Or set it to `bfloat16` with `mixed_precision: bf16`.

## When to ignore

Never under FSDP.

## References

accelerate#3983, peft#1432
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import literal

NAME = "storage-differs"
SEVERITY = "error"

_KEY = "quantization.bnb_4bit_quant_storage"
_COMPUTE = {"bf16": "bfloat16", "fp16": "float16", "no": "float32"}


def check(plan: Plan) -> Iterator[Found]:
    if plan.quantization is None or plan.world.distributed_type not in ("FSDP1", "FSDP2"):
        return
    storage = str(plan.quantization.get("bnb_4bit_quant_storage", "uint8")).removeprefix("torch.")
    computed = str(plan.quantization.get("bnb_4bit_compute_dtype") or _COMPUTE[plan.mixed_precision])
    wanted = computed.removeprefix("torch.")
    if not plan.quantization.get("load_in_4bit") or storage == wanted:
        return
    fix = Fix(title=f"store the 4-bit weights as {wanted}", edits={_KEY: wanted}, safety="safe")
    yield Found(
        message=f"`{_KEY}: {literal(storage)}` cannot be sharded: the model computes in {wanted}",
        key=_KEY,
        fixes=(fix,),
    )
