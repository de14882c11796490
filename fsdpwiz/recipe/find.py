"""Which file a recipe's name on the command line means."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.core.problem import Problem
from fsdpwiz.core.text import visible
from fsdpwiz.recipe.library import shipped

SUFFIXES = (".yaml", ".yml")
_SHIPPED_FOLDER = "recipes/"
_REFERENCE_CHARACTERS = 200
_LISTED_FILES = 200


def find_recipe(reference: str, *, cwd: Path) -> Path:
    """The recipe file that `reference` names, looked for in this order.

    A path, absolute or under `cwd`: as it stands, with `.yaml` or `.yml` behind it, a folder with
    `recipe.yaml` in it. Then the name of a shipped recipe, also as `recipes/NAME`. Raises
    ProblemError S010 with the nearest names where there is none.
    """
    for candidate in _candidates(reference, cwd):
        if _exists(candidate):
            return candidate
    known = {recipe.name: recipe.path for recipe in shipped()}
    if (name := _bare(reference)) in known:
        return known[name]
    written = {_bare(here): here for here in _names_here(cwd)} | {
        shipped_name: shipped_name for shipped_name in known
    }
    near = [written[close] for close in get_close_matches(name[:_REFERENCE_CHARACTERS], written, n=3)]
    detail = {"reference": visible(reference, limit=_REFERENCE_CHARACTERS), "nearest": near}
    raise ProblemError(Problem(code="S010", detail=detail))


def _candidates(reference: str, cwd: Path) -> Iterator[Path]:
    if not reference or "\0" in reference:
        return
    try:
        path = cwd / Path(reference).expanduser()
    except RuntimeError:
        path = cwd / reference
    yield path
    for suffix in SUFFIXES:
        yield path.parent / f"{path.name}{suffix}"
    for suffix in SUFFIXES:
        yield path / f"recipe{suffix}"


def _exists(path: Path) -> bool:
    """Whether something other than a folder is there; what cannot be read is for the reader to say."""
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


def _bare(reference: str) -> str:
    name = reference.removeprefix("./").removeprefix(_SHIPPED_FOLDER)
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _names_here(cwd: Path) -> list[str]:
    found: list[str] = []
    for folder, prefix in ((cwd, ""), (cwd / "recipes", _SHIPPED_FOLDER)):
        try:
            names = sorted(path.name for path in islice(folder.iterdir(), _LISTED_FILES))
        except OSError:
            continue
        found += [prefix + name for name in names if name.endswith(SUFFIXES)]
    return found
