"""A row that cannot be read

## What

A line of the data file is not a JSON object, lacks the columns of the others, or has a value of another
kind.

## Why

The trainer would fail while it prepares the data, in every rank, without naming the line.

## Example

    {"prompt": "2 + 2 =", "completion": "4"}
    {"prompt": "3 + 3 =", "completion":

## How to fix

Mend or delete the line that the finding names.

## When to ignore

Never for our trainer. A `script` of one's own may read the file in its own way.

## References

JSON Lines: one JSON value per line, UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.facts.types import Data
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.data.sets import data_sets, require
from fsdpwiz.rules.data.shape import fault_of_all_rows
from fsdpwiz.rules.rule import Found

NAME = "broken-row"
SEVERITY = "error"


def check(recipe: Recipe, data: Data, eval_data: Data | None) -> Iterator[Found]:
    if recipe.value("script"):
        return
    sets = list(data_sets(recipe, data, eval_data))
    for rows, key in ((one.rows, one.key) for one in sets):
        if fault_of_all_rows(rows):
            continue
        for fault in rows.faults:
            yield Found(
                message=f"Line {fault.line} of `{fault.file}` cannot be trained on: {fault.message}",
                key=key,
                file=str(fault.file),
                line=fault.line,
            )
    for one in sets:
        require(one.rows.rows_checked > 0, one.rows)
