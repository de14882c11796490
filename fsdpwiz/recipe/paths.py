"""Where a path of a recipe leads: beside the recipe first, then in the current folder."""

from __future__ import annotations

from pathlib import Path

from fsdpwiz.recipe.types import Recipe

BASE = "base_folder"


def base_folders(recipe: Recipe, *, cwd: Path | None = None) -> tuple[Path, ...]:
    """The folders in which a relative path of `recipe` is looked for, in this order.

    The recipe's own folder stands first, also where it was run from a copy (`load_recipe(base=…)`).
    """
    here = Path.cwd() if cwd is None else cwd
    base = recipe.detail.get(BASE) or (recipe.path.parent if recipe.path is not None else None)
    return (here,) if base is None else (Path(base), here)


def resolve_path(recipe: Recipe, value: str, *, cwd: Path | None = None) -> Path | None:
    """The file or folder that `value` names, None where nothing is there (a hub id, or a mistake).

    A value of the command line is looked for in the current folder first.
    """
    folders = base_folders(recipe, cwd=cwd)
    if _from_command_line(recipe, value):
        folders = folders[::-1]
    try:
        path = Path(value).expanduser()
        candidates = [path] if path.is_absolute() else [folder / path for folder in folders]
        return next((candidate for candidate in candidates if candidate.exists()), None) if value else None
    except (OSError, ValueError, RuntimeError):
        return None


def _from_command_line(recipe: Recipe, value: str) -> bool:
    keys = (key for key, origin in recipe.origins.items() if origin.source == "override")
    return any(recipe.value(key) == value for key in keys)
