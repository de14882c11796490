"""The best model may not be saved

## What

`sft.load_best_model_at_end` while evaluations and saves do not fall on the same steps.

## Why

transformers refuses it in every rank: the best evaluated step must be one that was saved.

## Example

    sft: {load_best_model_at_end: true, eval_strategy: epoch, save_strategy: steps}

## How to fix

Give both strategies the same value, and make `save_steps` a multiple of `eval_steps`.

## When to ignore

Never: it fails in every rank.

## References

transformers, `training_args.py`: `load_best_model_at_end`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "best-model-not-saved"
SEVERITY = "error"

_DEFAULT_STEPS = 500


def check(plan: Plan) -> Iterator[Found]:
    training, section = plan.training, plan.method
    evaluates, saves = training.get("eval_strategy", "no"), training.get("save_strategy", "steps")
    if training.get("load_best_model_at_end") is not True or saves == "best":
        return
    key = f"{section}.load_best_model_at_end"
    if evaluates != saves:
        fix = Fix(title="evaluate when saving", edits={f"{section}.eval_strategy": saves}, safety="unsafe")
        yield Found(
            message=f"`{key}` needs equal strategies: evaluation has `{evaluates}`, saving `{saves}`",
            key=key,
            fixes=(fix,),
        )
    elif saves == "steps":
        yield from _steps(plan, key)


def _steps(plan: Plan, key: str) -> Iterator[Found]:
    save = plan.training.get("save_steps", _DEFAULT_STEPS)
    evaluate = plan.training.get("eval_steps") or plan.training.get("logging_steps", _DEFAULT_STEPS)
    if save >= 1 and evaluate >= 1 and save % evaluate:
        fix = Fix(title="evaluate when saving", edits={f"{plan.method}.eval_steps": save}, safety="unsafe")
        yield Found(
            message=f"`{key}` needs `save_steps` ({save}) to be a multiple of `eval_steps` ({evaluate})",
            key=key,
            fixes=(fix,),
        )
