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
from fsdpwiz.rules.data.sets import DataSet, data_sets, require
from fsdpwiz.rules.rule import Found

NAME = "data-not-readable"
SEVERITY = "error"


def check(recipe: Recipe, data: Data, eval_data: Data | None) -> Iterator[Found]:
    if recipe.value("script"):
        return
    sets = list(data_sets(recipe, data, eval_data))
    said: set[tuple[str, str]] = set()
    for one in sets:
        reason = _reason(one.rows)
        if reason and (one.path_key, reason) not in said:
            said.add((one.path_key, reason))
            yield _found(one, reason, recipe)
    for one in sets:
        require(one.rows.rows is not None or bool(one.rows.columns), one.rows)


def _reason(rows: Data) -> str | None:
    return rows.problem or ("it has no rows" if rows.rows == 0 and not rows.faults else None)


def _found(one: DataSet, reason: str, recipe: Recipe) -> Found:
    name = recipe.value(one.path_key)
    if one.rows.without_split is None:
        return Found(message=f"`{name}` cannot be read: {reason}", key=one.key)
    split = recipe.value(one.split_key)
    if split is None:
        return Found(message=f"`{name}`: {reason}; name one by `{one.split_key}`", key=one.key)
    return Found(
        message=f"`{one.split_key}: {split}` cannot be read of `{name}`: {reason}", key=one.split_key
    )
