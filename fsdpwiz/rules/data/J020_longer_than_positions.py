"""Sequences longer than the model's positions

## What

`sft.max_length` is above the number of positions in the model's config.

## Why

A model with learned positions (GPT-2) fails with an index error at the first long row. One with rotary
positions goes on, in positions that it never saw.

## Example

    model: {name_or_path: openai-community/gpt2-xl}    # 1024 positions
    sft: {max_length: 2048}

## How to fix

Lower `sft.max_length` to the number that the message names.

## When to ignore

When a model with rotary positions is to be extended on purpose.

## References

transformers, `max_position_embeddings`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix, Quantity
from fsdpwiz.facts.types import Model
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.rule import Found

NAME = "longer-than-positions"
SEVERITY = "warning"

_POSITIONS = ("max_position_embeddings", "n_positions")
_LEARNED = frozenset({"gpt2", "opt", "gpt_neo", "gpt_bigcode", "biogpt", "xglm"})


def check(model: Model, plan: Plan) -> Iterator[Found]:
    length = plan.training.get("max_length")
    positions = next(
        (model.config[name] for name in _POSITIONS if isinstance(model.config.get(name), int)), None
    )
    if not isinstance(length, int) or positions is None or length <= positions:
        return
    key = f"{plan.method}.max_length"
    learned = model.config.get("model_type") in _LEARNED
    yield Found(
        message=f"`{key}: {length}` is above the model's {positions} positions",
        key=key,
        severity="error" if learned else "warning",
        evidence=(Quantity(name="positions", value=positions, unit="tokens", source="config.json"),),
        fixes=(Fix(title=f"set `{key}` to {positions}", edits={key: positions}, safety="unsafe"),),
    )
