"""A model that brings its own code

## What

The model's `config.json` points to Python files of its repository (`auto_map`), its architecture is not one
that is known, and `model.trust_remote_code` is not true.

## Why

transformers asks whether to run the code, with a short time-out; in ranks nobody answers and every one
fails.

## Example

    model: {name_or_path: owner/custom-model}

## How to fix

Read the code, pin it with `model.revision`, and set `model.trust_remote_code: true`.

## When to ignore

When the transformers of the target has the architecture itself. Where the one installed here lacks it, and
the run is to be here, the finding is an error, else a warning.

## References

transformers, `dynamic_module_utils.py`: `resolve_trust_remote_code`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsdpwiz.core.findings import Fix
from fsdpwiz.facts.types import Model
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "remote-code-not-trusted"
SEVERITY = "warning"

_KEY = "model.trust_remote_code"


def check(recipe: Recipe, model: Model) -> Iterator[Found]:
    unknown = not model.known_type if model.known_type is not None else model.layer_classes is None
    certain = model.known_type is False and recipe.value("launcher") != "slurm"
    if unknown and isinstance(model.config.get("auto_map"), Mapping) and recipe.value(_KEY) is not True:
        fix = Fix(title="trust the code after reading it", edits={_KEY: True}, safety="manual")
        yield Found(
            message=f"The model brings code of its own, which needs `{_KEY}: true`",
            key=_KEY,
            severity="error" if certain else "warning",
            fixes=(fix,),
        )
