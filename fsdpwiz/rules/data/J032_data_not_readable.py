"""Data that cannot be read

## What

`data.name_or_path` or `data.eval_name_or_path` is a path that does not exist, cannot be opened, holds no
rows, or is no data file.

## Why

The trainer would fail in every rank, or ask the hub for a data set of that name.

## Example

    data: {name_or_path: data/trian.jsonl}

## How to fix

Check the path: it is taken relative to the folder the command runs in. Data files end in `.jsonl`, `.json`
or `.parquet`; a hub id has the form `owner/name`.

## When to ignore

Never for our trainer.

## References

None.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.facts.types import Data
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "data-not-readable"
SEVERITY = "error"


def check(recipe: Recipe, data: Data | None, eval_data: Data | None) -> Iterator[Found]:
    if recipe.value("script"):
        return
    for key, rows in (("data.name_or_path", data), ("data.eval_name_or_path", eval_data)):
        if rows is None or rows.where == "hub":
            continue
        reason = rows.problem or ("it has no rows" if rows.rows == 0 and not rows.faults else None)
        if reason:
            yield Found(message=f"`{recipe.value(key)}` cannot be read: {reason}", key=key)
