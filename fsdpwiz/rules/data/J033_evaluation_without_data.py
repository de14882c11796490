"""An evaluation without data

## What

`sft.eval_strategy` asks for evaluations, and the recipe names neither `data.eval_split` nor
`data.eval_name_or_path`.

## Why

The Trainer refuses it in every rank.

## Example

    sft: {eval_strategy: steps, eval_steps: 50}

## How to fix

Name the data: `data.eval_name_or_path: held-out.jsonl`, or `data.eval_split: test` of a hub data set.

## When to ignore

Never: it fails in every rank.

## References

transformers, `trainer.py`: "You have set `args.eval_strategy` … but you didn't pass an `eval_dataset`".
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "evaluation-without-data"
SEVERITY = "error"


def check(plan: Plan) -> Iterator[Found]:
    strategy, data = plan.training.get("eval_strategy", "no"), plan.data
    if plan.script or strategy in ("no", None) or data.eval_split or data.eval_name_or_path:
        return
    key = f"{plan.method}.eval_strategy"
    yield Found(
        message=f"`{key}: {strategy}` needs `data.eval_name_or_path` or `data.eval_split`",
        key=key,
        fixes=(Fix(title="do not evaluate", edits={key: None}, safety="unsafe"),),
    )
