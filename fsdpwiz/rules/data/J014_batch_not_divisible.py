"""A global batch that the ranks cannot share

## What

`global_batch_size` is not a multiple of micro batch × data ranks, so that no whole number of accumulation
steps reaches it; or one of the batch's sizes is below 1.

## Why

The batch, and with it the learning rate that suits it, would silently be another one on another number of
nodes.

## Example

    global_batch_size: 100
    sft: {per_device_train_batch_size: 8}     # on 8 ranks: 64 or 128

## How to fix

Take one of the sizes that the message names, or another micro batch.

## When to ignore

Never: no plan can be made.

## References

None.
"""

from __future__ import annotations

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import counted, listed

NAME = "batch-not-divisible"
SEVERITY = "error"

_KEY = "global_batch_size"


def word(problem: Problem) -> Found:
    detail = problem.detail
    wanted = detail.get("global_batch_size")
    micro, ranks = int(detail.get("micro") or 0), int(detail.get("data_parallel_ranks") or 0)
    step = micro * ranks
    if not isinstance(wanted, int) or wanted < 1 or step < 1:
        return Found(
            message="The batch is empty: micro batch, accumulation and global batch must be at least 1"
        )
    nearest = sorted({size for size in (wanted // step * step, (wanted // step + 1) * step) if size > 0})
    fixes = tuple(
        Fix(title=f"set `{_KEY}` to {size}", edits={_KEY: size}, safety="unsafe") for size in nearest
    )
    what = f"{step}, a micro batch of {micro} on {counted(ranks, 'rank')}"
    if wanted < step:
        return Found(message=f"`{_KEY}: {wanted}` is less than {what}", key=_KEY, fixes=fixes)
    near = listed(nearest, joint="and")
    message = f"`{_KEY}: {wanted}` is not a multiple of {what}; the nearest are {near}"
    return Found(message=message, key=_KEY, fixes=fixes)
