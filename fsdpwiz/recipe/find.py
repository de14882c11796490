"""Which file a recipe's name on the command line means."""

from __future__ import annotations

import errno
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
    ProblemError S010 with the nearest names where there is none, S011 where a link or a folder of
    that name is no recipe.
    """
    for candidate in _candidates(reference, cwd):
        if _exists(candidate):
            return candidate
        if (reason := _broken_link(candidate)) is not None:
            raise ProblemError(Problem(code="S011", file=str(candidate), detail={"reason": reason}))
    known = {recipe.name: recipe.path for recipe in shipped()}
    if (name := _bare(reference)) in known:
        return known[name]
    for candidate in _candidates(reference, cwd):
        if _is_folder(candidate):
            reason = f"it is a folder without `recipe{SUFFIXES[0]}`"
            raise ProblemError(Problem(code="S011", file=str(candidate), detail={"reason": reason}))
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


def _broken_link(path: Path) -> str | None:
    """What is wrong with a link that leads to no file or folder; None for anything else."""
    try:
        if not path.is_symlink():
            return None
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "it is a link that leads back to itself"
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return (
                f"it is a link that leads nowhere: to `{visible(_target(path), limit=_REFERENCE_CHARACTERS)}`"
            )
    except ValueError:
        pass
    return None


def _target(path: Path) -> str:
    try:
        return visible(str(path.readlink()), limit=_REFERENCE_CHARACTERS)
    except OSError:
        return "what is gone"


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
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
            entries = list(islice(folder.iterdir(), _LISTED_FILES))
        except OSError:
            continue
        files = sorted(path.name for path in entries if path.name.endswith(SUFFIXES) and _exists(path))
        found += [prefix + name for name in files]
    return found
