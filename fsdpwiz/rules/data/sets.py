"""The data sets of a recipe with the keys that name them, and what of them was not looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsdpwiz.facts.types import Data
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import NotJudged


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """One data set: `key` is to blame for it, `path_key` names its file, `split_key` the split of it."""

    key: str
    path_key: str
    split_key: str
    rows: Data


def data_sets(recipe: Recipe, data: Data, eval_data: Data | None) -> Iterator[DataSet]:
    """The training data, then the evaluation's: data of its own or another split of the first."""
    path = "data.name_or_path"
    yield DataSet(key=path, path_key=path, split_key="data.split", rows=data)
    if eval_data is None:
        return
    split, own = "data.eval_split", "data.eval_name_or_path"
    if recipe.value(own):
        yield DataSet(key=own, path_key=own, split_key=split, rows=eval_data)
    else:
        yield DataSet(key=split, path_key=path, split_key=split, rows=eval_data)


def require(known: bool, rows: Data) -> None:
    """Raise NotJudged where what a rule needs is not `known` since `rows` were not looked at."""
    if not known and (reason := rows.unchecked or rows.problem):
        raise NotJudged(f"the data was not looked at: {reason}")
