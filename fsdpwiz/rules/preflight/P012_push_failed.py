"""The upload of the model failed

## What

The model was trained, exported and verified, and its upload to the hub failed.

## Why

The run did not do all that its recipe says (`sft.push_to_hub`). The model itself is safe in the run folder.

## Example

    sft: {push_to_hub: true, hub_model_id: me/model}

## How to fix

Log in with `hf auth login`, check the right to write to the repository and the network, then upload: `hf
upload REPOSITORY runs/NAME/ID/model`.

## When to ignore

Never: the model is not on the hub.

## References

huggingface_hub, `upload_folder`.
"""

from __future__ import annotations

from fsdpwiz.core.problem import Problem
from fsdpwiz.rules.rule import Found

NAME = "push-failed"
SEVERITY = "error"
STAGE = "training"


def word(problem: Problem) -> Found:
    repository, reason = problem.detail.get("repository"), problem.detail.get("reason")
    where = f" to `{repository}`" if repository else ""
    return Found(
        message=f"The push{where} failed"
        + (f": {reason}" if reason else "")
        + "; the model stays in the run folder"
    )
