"""Data of an unknown shape

## What

The columns of the data are none of the training method's formats.

## Why

The trainer would not know what to train on. It looks for `messages`, for `prompt` and `completion`, or for
`text`.

## Example

    {"question": "2 + 2 =", "answer": "4"}

## How to fix

Rename the columns: `prompt` and `completion` for pairs, `messages` with `role` and `content` for chats,
`text` for text (or name the text's column in `sft.dataset_text_field`).

## When to ignore

Never for our trainer. A `script` of one's own may map its columns itself.

## References

TRL, dataset formats.
"""

from __future__ import annotations

from collections.abc import Iterator

from fsdpwiz.facts.types import Data
from fsdpwiz.methods.method import method_of
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.data.sets import data_sets, require
from fsdpwiz.rules.data.shape import fault_of_all_rows
from fsdpwiz.rules.rule import Found
from fsdpwiz.rules.wording import listed

NAME = "unknown-shape"
SEVERITY = "error"


def check(recipe: Recipe, data: Data, eval_data: Data | None) -> Iterator[Found]:
    if recipe.value("script"):
        return
    sets = list(data_sets(recipe, data, eval_data))
    for one in sets:
        if one.rows.format is None and not one.rows.problem:
            yield from _unknown(one.key, one.rows, recipe)
    for one in sets:
        require(one.rows.format is not None or bool(one.rows.columns), one.rows)


def _unknown(key: str, rows: Data, recipe: Recipe) -> Iterator[Found]:
    if fault := fault_of_all_rows(rows):
        message = f"No row of `{fault.file}` has a known shape: {fault.message}"
        yield Found(message=message, key=key, file=str(fault.file), line=fault.line)
        return
    method = method_of(recipe.origins)
    if not rows.columns:
        return
    section = recipe.value(method.section) or {}
    formats = "; ".join(listed(known.named(section).columns, joint="and") for known in method.data_formats)
    columns = listed(sorted(rows.columns), joint="and")
    yield Found(
        message=f"The data has the columns {columns}; `{method.section}` trains on {formats}", key=key
    )
