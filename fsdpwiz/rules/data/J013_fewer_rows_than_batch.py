"""Fewer rows than one global batch

## What

The data has fewer rows than micro batch × accumulation × data ranks.

## Why

An epoch is then less than one optimizer step: rows are repeated to fill the ranks, and the batch that is
trained is not the one the recipe says.

## Example

    global_batch_size: 512      # and a file of 100 rows

## How to fix

Lower `global_batch_size`, `sft.per_device_train_batch_size` or `sft.gradient_accumulation_steps`, or take
more data.

## When to ignore

In a trial run.

## References

transformers, `trainer.py`: at least one step per epoch.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Quantity
from fsdpwiz.facts.types import Data
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.data.sets import require
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import counted

NAME = "fewer-rows-than-batch"
SEVERITY = "warning"


def check(data: Data, plan: Plan) -> Iterator[Found]:
    batch = plan.batch
    require(data.rows is not None or data.rows_checked >= batch.global_, data)
    if data.rows is None or data.problem or not 0 < data.rows < batch.global_:
        return
    yield Found(
        message=f"The data has {counted(data.rows, 'row')}; one step takes {batch.global_:,} sequences",
        key="data.name_or_path",
        evidence=(
            Quantity(name="rows", value=data.rows, unit="rows", source=data.source),
            Quantity(name="global_batch", value=batch.global_, unit="sequences", source="plan"),
        ),
    )
