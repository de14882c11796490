"""Code of the model's repository is run

## What

`model.trust_remote_code` is true.

## Why

The ranks import and run Python files from the model's repository, with your rights. Only `run` does so; the
other verbs never execute code of a model.

## Example

    model: {name_or_path: owner/custom-model, trust_remote_code: true}

## How to fix

Remove the key where transformers has the architecture itself. Else read the code, and pin it with
`model.revision`.

## When to ignore

When the code is your own, or was read and is pinned.

## References

transformers, custom models.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "remote-code-trusted"
SEVERITY = "warning"

_KEY = "model.trust_remote_code"


def check(recipe: Recipe) -> Iterator[Found]:
    if recipe.value(_KEY) is True:
        name = recipe.value("model.name_or_path")
        revision = recipe.value("model.revision")
        pinned = f", revision `{revision}`" if revision else ", whatever its latest revision has"
        yield Found(message=f"`{_KEY}` lets every rank run the code in `{name}`{pinned}", key=_KEY)
