"""The keys without which there is nothing to train."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fsdpwiz.core.problem import Problem

REQUIRED = ("model.name_or_path", "data.name_or_path")


def missing(values: Mapping[str, Any], problems: Iterable[Problem], file: str | None) -> Iterator[Problem]:
    """A problem S007 for each required key that nobody gave; a faulty one is not missing too.

    A script of one's own brings model and data itself.
    """
    if values.get("script") is not None:
        return
    faulty = {problem.key for problem in problems}
    for key in REQUIRED:
        section, _, name = key.partition(".")
        given = values.get(section)
        there = isinstance(given, Mapping) and given.get(name) is not None
        if not there and key not in faulty and section not in faulty:
            yield Problem(code="S007", key=key, file=file, detail={"section": section})
