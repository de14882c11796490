"""A variable that makes programs load code

## What

`env` sets a variable by which the dynamic linker, Python or the shell loads code before the program starts:
`LD_…`, `PYTHON…`, `BASH_ENV`, `ENV`, `GCONV_PATH`.

## Why

Every rank would run that code with your rights. In a recipe that somebody else wrote it is the shortest way
to do harm. Only `run` passes it on, and says so; the other verbs never execute anything.

## Example

    env: {LD_PRELOAD: /tmp/libfast.so}

## How to fix

Remove it, or check the file that it names.

## When to ignore

When the line is your own, e.g. `LD_PRELOAD` of an allocator.

## References

ld.so(8); Python, environment variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsdpwiz.core.findings import Fix
from fsdpwiz.recipe.types import Recipe
from fsdpwiz.rules.rule import Found

NAME = "loader-variable"
SEVERITY = "warning"

_PREFIXES = ("LD_", "DYLD_")
_NAMES = frozenset({"BASH_ENV", "ENV", "GCONV_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"})
_HARMLESS = frozenset({"PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONFAULTHANDLER", "PYTHONDONTWRITEBYTECODE"})


def check(recipe: Recipe) -> Iterator[Found]:
    given = recipe.value("env")
    for name in given if isinstance(given, Mapping) else ():
        if loads_code(str(name)):
            key = f"env.{name}"
            fix = Fix(title=f"remove `{key}`", edits={key: None}, safety="unsafe")
            yield Found(
                message=f"`{key}` makes every rank load code from where it points", key=key, fixes=(fix,)
            )


def loads_code(name: str) -> bool:
    """Whether a program loads code from where a variable of this name points."""
    if name in _HARMLESS:
        return False
    return name in _NAMES or name.startswith((*_PREFIXES, "PYTHON"))
