"""A token or password in the recipe

## What

A value of the recipe, the site file or an override that looks like a token, or stands under a key or
variable whose name says that it is one.

## Why

The recipe is copied into the run folder, which is shared, archived and committed. A token in it is
published.

## Example

    env:
      WANDB_API_KEY: 0123…

## How to fix

Remove it, and revoke it if the file was ever shared. Log in with `hf auth login` and `wandb login`, or
export the variable in the shell: every rank inherits the environment of the launcher.

## When to ignore

Where the name only sounds like a secret.

## References

Hugging Face, security tokens: never commit one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fsdpwiz.core.findings import Fix
from fsdpwiz.core.secrets import contains_secret, names_secret
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import leaf

NAME = "secret-in-recipe"
SEVERITY = "error"


def check(recipe: Recipe) -> Iterator[Found]:
    for key, text in _texts(recipe.given, ""):
        if contains_secret(text) or _is_named_so(key, text):
            fix = Fix(
                title=f"remove `{key}`, and revoke the token if the file was shared",
                edits={key: None},
                safety="unsafe",
            )
            yield Found(
                message=f"`{key}` holds a secret, which would be copied into the run folder",
                key=key,
                fixes=(fix,),
            )


def _is_named_so(key: str, text: str) -> bool:
    is_credential = key.startswith("env.") or leaf(key) == "hub_token"
    return is_credential and names_secret(leaf(key)) and bool(text) and not text.startswith("$")


def _texts(node: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, Mapping):
        for name, value in node.items():
            yield from _texts(value, f"{key}.{name}" if key else str(name))
    elif isinstance(node, (list, tuple)):
        for value in node:
            yield from _texts(value, key)
    elif isinstance(node, str):
        yield key, node
