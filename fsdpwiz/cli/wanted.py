"""What the readers of facts have to know of a recipe."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.facts.wanted import Wanted
from fsdpwiz.methods.method import DataFormat, method_of
from fsdpwiz.recipe.paths import base_folders, resolve_path
from fsdpwiz.recipe.types import Recipe

DEFAULT_OUTPUT_DIR = "runs"


def wanted_of(recipe: Recipe, *, cwd: Path) -> Wanted:
    """The plain arguments of `gather` for `recipe`, its paths found as seen from the folder `cwd`."""
    settings = recipe.settings
    return Wanted(
        model=_found(recipe, settings.model.name_or_path, cwd),
        revision=settings.model.revision,
        data=_found(recipe, settings.data.name_or_path, cwd),
        data_split=settings.data.split,
        eval_data=_found(recipe, settings.data.eval_name_or_path, cwd),
        eval_split=settings.data.eval_split,
        data_formats=_data_formats(recipe),
        script=_found(recipe, settings.script, cwd),
        output_dir=cwd / Path(settings.output_dir or DEFAULT_OUTPUT_DIR).expanduser(),
        cluster=recipe.value("cluster") or {},
        launcher=settings.launcher or "local",
        base_folders=base_folders(recipe, cwd=cwd),
    )


def _found(recipe: Recipe, value: str | None, cwd: Path) -> str | None:
    if value is None:
        return None
    path = resolve_path(recipe, value, cwd=cwd)
    return value if path is None else str(path.absolute())


def _data_formats(recipe: Recipe) -> tuple[DataFormat, ...]:
    """The formats of the recipe's training method, columns named as its section names them."""
    method = method_of(recipe.origins)
    section = recipe.value(method.section) or {}
    return tuple(known.named(section) for known in method.data_formats)
