"""The rules, found by file: rules/SUBJECT/CODE_name.py. A module is imported when its rule is asked for."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from fsdpwiz.rules.rule import Parameter, Rule

_FILE = re.compile(r"(?P<code>[A-Z][0-9]{3})_[a-z0-9_]+\.py")
_FOLDER = Path(__file__).parent


class BrokenRuleError(Exception):
    """A rule file that cannot be imported, or lacks what a rule must have."""


@cache
def modules() -> MappingProxyType[str, str]:
    """The module of each code, sorted by code; nothing is imported."""
    found = {
        match["code"]: f"{__package__}.{path.parent.name}.{path.stem}"
        for path in _FOLDER.glob("*/*.py")
        if (match := _FILE.fullmatch(path.name))
    }
    return MappingProxyType(dict(sorted(found.items())))


@cache
def rule(code: str) -> Rule:
    """The rule of this code.

    Raises KeyError where there is none, BrokenRuleError where its file is broken.
    """
    name = modules()[code]
    try:
        return _read(code, importlib.import_module(name))
    except Exception as error:
        raise BrokenRuleError(f"{name}: {type(error).__name__}: {error}") from error


def rules() -> dict[str, Rule]:
    """All rules that load, by code."""
    return {code: rule(code) for code in modules() if code not in broken()}


@cache
def broken() -> MappingProxyType[str, str]:
    """The codes whose file does not load, with the reason."""
    reasons = {}
    for code in modules():
        try:
            rule(code)
        except BrokenRuleError as error:
            reasons[code] = str(error)
    return MappingProxyType(reasons)


def _read(code: str, module: ModuleType) -> Rule:
    word, check = getattr(module, "word", None), getattr(module, "check", None)
    if word is None and check is None:
        raise TypeError("a rule has `word`, `check` or both")
    return Rule(
        code=code,
        name=module.NAME,
        severity=module.SEVERITY,
        severity_unless_run=getattr(module, "SEVERITY_UNLESS_RUN", None),
        exit_code=getattr(module, "EXIT", None),
        stage=getattr(module, "STAGE", "check"),
        page=inspect.cleandoc(module.__doc__ or ""),
        parameters=_parameters(check) if check else (),
        word=word,
        check=check,
    )


def _parameters(check: Callable[..., Any]) -> tuple[Parameter, ...]:
    annotations = check.__annotations__
    names = check.__code__.co_varnames[: check.__code__.co_argcount + check.__code__.co_kwonlyargcount]
    return tuple(Parameter(name=name, optional="None" in str(annotations.get(name, ""))) for name in names)
