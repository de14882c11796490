"""The recipe of a run as one text that stands alone: overrides applied, paths found, comments kept."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from ruamel.yaml import YAML

from fsdpwiz.plan.types import Plan
from fsdpwiz.recipe.types import Recipe


def recipe_as_run(recipe: Recipe, plan: Plan) -> str:
    """The text of `recipe` with what the command line changed and with paths as they were found.

    A name that came from the file's own is written in, for the copy has another. Without such a
    change it is the text as written.
    """
    edits = dict(_edits(recipe, plan))
    if not edits:
        return recipe.text
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    tree = yaml.load(recipe.text) or yaml.map()
    for key, value in edits.items():
        _set(yaml, tree, key.split("."), value)
    stream = io.StringIO()
    yaml.dump(tree, stream)
    return stream.getvalue()


def _edits(recipe: Recipe, plan: Plan) -> Iterator[tuple[str, Any]]:
    for override in recipe.overrides:
        key = override.partition("=")[0].strip()
        yield key, _plain(recipe.value(key))
    if recipe.value("name") is None:
        yield "name", plan.name
    found = {
        "model.name_or_path": plan.model.name_or_path,
        "data.name_or_path": plan.data.name_or_path,
        "data.eval_name_or_path": plan.data.eval_name_or_path,
        "script": plan.script,
    }
    for key, value in found.items():
        if recipe.value(key) is not None and value and recipe.value(key) != value:
            yield key, value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _set(yaml: YAML, node: Any, parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        if not isinstance(node.get(part), dict):
            node[part] = yaml.map()
        node = node[part]
    node[parts[-1]] = value
