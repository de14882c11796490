"""A recipe read: one file, the site's defaults under it, the command line's overrides over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fsdpwiz.core.errors import ProblemError
from fsdpwiz.core.origin import Origin
from fsdpwiz.core.problem import Problem
from fsdpwiz.recipe.check import check_source
from fsdpwiz.recipe.merge import merge
from fsdpwiz.recipe.overrides import check_override
from fsdpwiz.recipe.ownership import conditionally_owned
from fsdpwiz.recipe.paths import BASE
from fsdpwiz.recipe.required import missing
from fsdpwiz.recipe.schema.settings import Settings
from fsdpwiz.recipe.shown import shown
from fsdpwiz.recipe.site_file import check_site
from fsdpwiz.recipe.source_text import read_text
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.recipe.yaml_tree import MappingNode, NotYaml, TooLarge, plain, read_yaml


def load_recipe(
    path: Path, overrides: Sequence[str] = (), *, site: Path | None = None, base: Path | None = None
) -> Recipe:
    """The recipe of a file; every fault in it is among its `problems`.

    `base` is the folder that relative paths are looked for in where it is not the file's own, as
    for the copy in a run folder. Raises ProblemError where there is nothing to judge: S011
    unreadable or not YAML, S012 not a mapping, S013 too large.
    """
    return read_recipe(read_text(path), overrides, path=path, site=site, base=base)


def read_recipe(
    text: str,
    overrides: Sequence[str] = (),
    *,
    path: Path | None = None,
    site: Path | None = None,
    base: Path | None = None,
) -> Recipe:
    """The recipe of a text; see `load_recipe`."""
    file = None if path is None else str(path)
    recipe = check_source(_root(text, file), Settings, file=file, source="recipe")
    commands = [check_override(override, Settings) for override in overrides]
    defaults = [check_site(site)] if site is not None else []
    sources = [*defaults, recipe, *commands]
    values, origins = merge(sources)
    _unset(values, origins)
    problems = [problem for source in (recipe, *commands, *defaults) for problem in source.problems]
    problems += _taken_over(values, origins)
    problems += missing(values, problems, file)
    return Recipe(
        settings=Settings.model_validate(_set(values)),
        given=values,
        origins=origins,
        problems=tuple(problems),
        path=path,
        text=text,
        overrides=tuple(overrides),
        detail={} if base is None else {BASE: base},
    )


def _root(text: str, file: str | None) -> MappingNode:
    try:
        root = read_yaml(text)
    except NotYaml as error:
        raise _nothing("S011", file, error.line, reason=error.reason) from None
    except TooLarge as error:
        raise _nothing("S013", file, error.line, limit=error.limit) from None
    if not isinstance(root, MappingNode):
        value = plain(root)
        raise _nothing("S012", file, root.line, got="nothing" if value is None else shown("", value))
    return root


def _nothing(code: str, file: str | None, line: int | None, **detail: Any) -> ProblemError:
    return ProblemError(Problem(code=code, file=file, line=line, detail=detail))


def _taken_over(values: dict[str, Any], origins: dict[str, Origin]) -> Iterator[Problem]:
    """Take out the keys that another given key owns, and report them."""
    for key, owner in list(conditionally_owned(values)):
        section, _, name = key.partition(".")
        value = values[section].pop(name)
        origin = origins.pop(key)
        detail: dict[str, Any] = {"owner": owner}
        if owner == "fsdp.activation_checkpointing" and isinstance(value, bool):
            detail["edits"] = {key: None, owner: value}
        if origin.source != "recipe":
            detail["source"] = origin.source
        yield Problem(code="S004", key=key, file=origin.file, line=origin.line, detail=detail)


def _unset(values: dict[str, Any], origins: dict[str, Origin]) -> None:
    """Take out the variables and options that null unsets, e.g. by `env.NAME=null` over the site's."""
    slurm = values.get("slurm")
    options = slurm.get("options") if isinstance(slurm, dict) else None
    for section, entries in (("env", values.get("env") or {}), ("slurm.options", options or {})):
        for name in [name for name, value in entries.items() if value is None]:
            del entries[name]
            del origins[f"{section}.{name}"]


def _set(values: Mapping[str, Any]) -> dict[str, Any]:
    """What the settings are validated from: null reads as absent there, `Recipe.has` tells the two apart."""
    return {name: value for name, value in values.items() if value is not None}
