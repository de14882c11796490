"""The best checkpoint by no measure

## What

`sft.save_strategy: best` without `sft.metric_for_best_model`.

## Why

The Trainer refuses it in every rank: it would not know which evaluation is the best.

## Example

    sft: {save_strategy: best, eval_strategy: steps}

## How to fix

Set `sft.metric_for_best_model: eval_loss`.

## When to ignore

Never: it fails in every rank.

## References

transformers, `trainer.py`: `metric_for_best_model`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "best-by-nothing"
SEVERITY = "error"


def check(plan: Plan) -> Iterator[Found]:
    training, section = plan.training, plan.method
    if training.get("save_strategy") != "best" or training.get("metric_for_best_model"):
        return
    if training.get("load_best_model_at_end"):
        return
    edits = {f"{section}.metric_for_best_model": "eval_loss"}
    yield Found(
        message=f"`{section}.save_strategy: best` needs `{section}.metric_for_best_model`",
        key=f"{section}.save_strategy",
        fixes=(Fix(title="take the evaluation's loss", edits=edits, safety="unsafe"),),
    )
