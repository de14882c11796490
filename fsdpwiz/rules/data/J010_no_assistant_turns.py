"""Loss on assistant turns that the data does not have

## What

`sft.assistant_only_loss` with data that is not conversational.

## Why

Without `messages` there is no turn to tell the assistant's tokens by. TRL refuses it in every rank.

## Example

    data: {name_or_path: prompts.jsonl}      # columns prompt, completion
    sft: {assistant_only_loss: true}

## How to fix

Remove the key. With prompt/completion data the loss is on the completion alone already
(`completion_only_loss`).

## When to ignore

Where prompt and completion are themselves lists of messages.

## References

trl, `sft_trainer.py`: "the dataset is not conversational".
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.core.findings import Fix
from fsdpwiz.facts.types import Data
from fsdpwiz.plan.types import Plan
from fsdpwiz.rules.data.sets import require
from fsdpwiz.rules.rule import Found

NAME = "no-assistant-turns"
SEVERITY = "error"


def check(data: Data, plan: Plan) -> Iterator[Found]:
    if plan.training.get("assistant_only_loss") is not True:
        return
    require(data.format is not None, data)
    if data.format in (None, "messages"):
        return
    key = f"{plan.method}.assistant_only_loss"
    certain = data.format == "text"
    yield Found(
        message=f"`{key}` needs conversational data; this has the format {data.format}",
        key=key,
        severity="error" if certain else "warning",
        fixes=(Fix(title=f"remove `{key}`", edits={key: None}, safety="unsafe"),),
    )
