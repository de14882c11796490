"""One source of settings (recipe, site file or override) against the schema, key by key.

A faulty key becomes a problem and is left out; everything else stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fsdpwiz.core.origin import Origin, Source
from fsdpwiz.core.problem import Problem
from fsdpwiz.recipe.names import nearest
from fsdpwiz.recipe.ownership import owned, owner_detail
from fsdpwiz.recipe.schema.annotation import is_text_list, section_of, text_map
from fsdpwiz.recipe.schema.keys import keys_by_name
from fsdpwiz.recipe.schema.part import AsText, Part
from fsdpwiz.recipe.shown import in_sentence, is_secret, shown
from fsdpwiz.recipe.value_check import fault, nul_fault
from fsdpwiz.recipe.yaml_tree import MappingNode, Node, ScalarNode, SequenceNode, plain

_NAME_CHARACTERS = 100
_UNKNOWN_WITH_NEAREST = 50
_MERGE_KEY = "<<"


@dataclass(slots=True, kw_only=True)
class Checked:
    """What one source gives: legal values, their origins by dotted key, and the faults met."""

    file: str | None
    source: Source
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def origin(self, line: int) -> Origin:
        return Origin(source=self.source, file=self.file, line=line if self.file is not None else None)

    def report(self, code: str, key: str, line: int, **detail: Any) -> None:
        """Note a fault; `line` counts only where there is a file."""
        place = line if self.file is not None else None
        about = {} if self.source == "recipe" else {"source": self.source}
        self.problems.append(
            Problem(code=code, key=key, file=self.file, line=place, detail={**detail, **about})
        )


def check_source(root: MappingNode, model: type[Part], *, file: str | None, source: Source) -> Checked:
    """Check `root` against `model`; the lines of its nodes are lines of `file`."""
    checked = Checked(file=file, source=source)
    checked.values = _section(root, model, "", checked)
    return checked


def _section(node: MappingNode, model: type[Part], section: str, checked: Checked) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, line, value in _unique(node, section, checked):
        key = _dotted(section, name)
        if name in owned(section):
            checked.report("S004", key, line, **owner_detail(section, name, plain(value)))
        elif name not in model.model_fields:
            _unknown(name, line, value, model, section, checked)
        else:
            _key(key, name, line, value, model, given, checked)
    return given


def _key(
    key: str, name: str, line: int, node: Node, model: type[Part], given: dict[str, Any], checked: Checked
) -> None:
    info = model.model_fields[name]
    inner, mark = section_of(info), text_map(info)
    checked.origins[key] = checked.origin(line)
    if (inner is not None or mark is not None) and _is_null(node):
        given[name] = None
    elif inner is not None and isinstance(node, MappingNode):
        given[name] = _section(node, inner, key, checked)
    elif mark is not None and isinstance(node, MappingNode):
        given[name] = _texts(node, mark, key, checked)
    else:
        _value(key, name, line, node, model, given, checked)


def _value(
    key: str, name: str, line: int, node: Node, model: type[Part], given: dict[str, Any], checked: Checked
) -> None:
    info = model.model_fields[name]
    value = _as_text(node) if is_text_list(info) else plain(node)
    found = fault(model, name, key, value, raw=node.raw if isinstance(node, ScalarNode) else None)
    if found is None:
        given[name] = value
        return
    del checked.origins[key]
    code, detail = found
    checked.report(code, key, line, **detail)


def _texts(node: MappingNode, mark: AsText, section: str, checked: Checked) -> dict[str, str | None]:
    given: dict[str, str | None] = {}
    for name, line, value in _unique(node, section, checked):
        key = _dotted(section, name)
        if name in owned(section):
            checked.report("S004", key, line, **owner_detail(section, name, plain(value)))
        elif mark.key_pattern and not re.fullmatch(mark.key_pattern, name):
            checked.report(
                "S003",
                key,
                line,
                got=in_sentence("", name),
                legal=(mark.key_words,),
                nearest=None,
                is_name=True,
            )
        elif not isinstance(value, ScalarNode) or (_is_null(value) and not mark.unset_by_null):
            checked.report("S002", key, line, got=shown(key, plain(value)), expected="text")
        elif not mark.any_scalar and not isinstance(value.value, str):
            wanted = {"expected": "text", "suggestion": value.raw}
            checked.report("S002", key, line, got=shown(key, value.value), **wanted)
        elif (found := nul_fault(key, value.raw)) is not None:
            checked.report(found[0], key, line, **found[1])
        else:
            given[name] = None if _is_null(value) else value.raw
            checked.origins[key] = checked.origin(line)
    return given


def _unknown(name: str, line: int, node: Node, model: type[Part], section: str, checked: Checked) -> None:
    key = _dotted(section, name)
    legal = tuple(model.model_fields)
    detail: dict[str, Any] = {"nearest": None, "legal": legal, "elsewhere": keys_by_name().get(name, ())}
    if sum(problem.code == "S001" for problem in checked.problems) < _UNKNOWN_WITH_NEAREST:
        detail["nearest"] = nearest(section, name, legal)
    if name == _MERGE_KEY:
        detail["reason"] = "merge keys are not part of YAML 1.2"
    elif isinstance(node, ScalarNode) and not is_secret(key, node.value):
        detail["got"] = node.value
    checked.report("S001", key, line, **detail)


def _unique(node: MappingNode, section: str, checked: Checked) -> Iterator[tuple[str, int, Node]]:
    """The entries whose key stands there for the first time; the others are reported."""
    first: dict[str, int] = {}
    for name, line, value in node.entries:
        if name in first:
            checked.report("S005", _dotted(section, name), line, first_line=first[name])
        else:
            first[name] = line
            yield name, line, value


def _as_text(node: Node) -> Any:
    """A list with its scalars as the text they are written as; null is no text."""
    if not isinstance(node, SequenceNode):
        return plain(node)
    return [
        item.raw if isinstance(item, ScalarNode) and item.value is not None else plain(item)
        for item in node.items
    ]


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value is None


def _dotted(section: str, name: str) -> str:
    short = name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS - 1]}…"
    return f"{section}.{short}" if section else short
