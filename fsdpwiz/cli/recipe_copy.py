"""A shipped recipe made the user's own: the file, and the data beside it that it names."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import typer

from fsdpwiz.core.atomic import named
from fsdpwiz.core.text import visible
from fsdpwiz.recipe.library import Shipped

_SUFFIXES = {".yaml", ".yml"}


def copy_recipe(recipe: Shipped, target: Path, *, force: bool) -> list[Path]:
    """Copy `recipe` to `target` (a file, or a folder); the recipe's path comes first.

    A folder is made where it is missing, and so is that of the data, but no folder above `target`.

    Every file appears whole or not at all, and none does where one of them would overwrite
    another file without `force` or the folder above is missing; raises typer.BadParameter then,
    OSError, which names the file, where it cannot be written.
    """
    if not target.parent.exists():
        raise typer.BadParameter(
            f"there is no folder `{visible(str(target.parent))}` to copy to; make it first"
        )
    destination = target if target.suffix in _SUFFIXES else target / recipe.path.name
    copies = {recipe.path: destination}
    for file in _data_files(recipe):
        copies[file] = destination.parent / file.relative_to(recipe.path.parent)
    there = [new for old, new in copies.items() if new.exists() and not new.samefile(old)]
    if there and not force:
        raise typer.BadParameter(f"`{visible(str(there[0]))}` exists already; --force overwrites it")
    for old, new in copies.items():
        _copy_whole(old, new)
    return list(copies.values())


def _data_files(recipe: Shipped) -> list[Path]:
    """The files beside the recipe that its `data` section names."""
    from fsdpwiz.recipe.load import load_recipe

    loaded = load_recipe(recipe.path)
    named = [loaded.value(f"data.{key}") for key in ("name_or_path", "eval_name_or_path")]
    paths = [recipe.path.parent / value for value in named if isinstance(value, str)]
    inside = [
        path
        for path in paths
        if path.is_file() and path.resolve().is_relative_to(recipe.path.parent.resolve())
    ]
    licences = {path.parent / "README.md" for path in inside if (path.parent / "README.md").is_file()}
    return [*inside, *sorted(licences)]


def _copy_whole(source: Path, target: Path) -> None:
    if target.exists() and target.samefile(source):
        return
    with named(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as staging:
            shutil.copyfile(source, Path(staging, target.name)).replace(target)
