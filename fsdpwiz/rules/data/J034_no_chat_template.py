"""Chats for a model without a chat template

## What

The data is conversational (`messages`) and the model's tokenizer has no chat template.

## Why

The trainer renders each chat by the template and fails without one. Base models seldom have one; their
instruct variants do.

## Example

    model: {name_or_path: meta-llama/Llama-2-7b-hf}
    data: {name_or_path: chats.jsonl}

## How to fix

Name a template: `sft.chat_template_path: FOLDER_OR_FILE`, e.g. the instruct model's. Or train on
prompt/completion pairs.

## When to ignore

Never for our trainer.

## References

transformers, chat templates; trl, `chat_template_path`.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.facts.types import Data, Model
from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.data.sets import require
from fsdpwiz.rules.rule import Found

NAME = "no-chat-template"
SEVERITY = "error"


def check(recipe: Recipe, model: Model, data: Data, plan: Plan) -> Iterator[Found]:
    if plan.script or plan.training.get("chat_template_path") or model.chat_template is not False:
        return
    require(data.format is not None, data)
    if data.format == "messages":
        name = recipe.value("model.name_or_path")
        yield Found(
            message=f"The data is conversational and `{name}` has no chat template", key="data.name_or_path"
        )
