"""Keys that only the user's own script can apply

## What

The recipe names a `script` and also sets keys of the method section.

## Why

A script of one's own builds its own training arguments. fsdpwiz launches it in the same world, with the
same environment and run folder, but cannot reach into it: the keys have an effect only if the script reads
them.

## Example

    script: train.py
    sft:
      learning_rate: 1.0e-5

## How to fix

Hand the values over in `script_args`, or drop the keys from the recipe.

## When to ignore

When the script does read them.

## References

`examples/` has a script of one's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsdpwiz.methods.method import methods
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import listed

NAME = "section-left-to-script"
SEVERITY = "info"


def check(recipe: Recipe) -> Iterator[Found]:
    if not recipe.value("script"):
        return
    for section in methods():
        given = recipe.value(section)
        if isinstance(given, Mapping) and given:
            keys = listed((f"{section}.{key}" for key in given), joint="and")
            yield Found(message=f"`script` must apply {keys} itself; fsdpwiz cannot", key=section)
