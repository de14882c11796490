"""Settings of the command line: `section.key=value`, where the value is YAML."""

from __future__ import annotations

import json
import re
from typing import Any

from fsdpwiz.core.problem import Problem
from fsdpwiz.core.secrets import redact
from fsdpwiz.core.text import visible
from fsdpwiz.recipe.check import Checked, check_source
from fsdpwiz.recipe.schema.part import Part
from fsdpwiz.recipe.yaml_tree import MappingNode, Node, NotYaml, TooLarge, read_yaml

_KEY = re.compile(r"[^\s.=]+(?:\.[^\s.=]+)*")
_KEY_CHARACTERS = 300
_MAX_PARTS = 12
_SHOWN_CHARACTERS = 120
_ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def check_override(text: str, model: type[Part]) -> Checked:
    """Read and check one override; a malformed one is a problem S014 with override and reason."""
    try:
        root = _tree(text)
    except ValueError as error:
        shown = redact(visible(text, limit=_SHOWN_CHARACTERS))
        problem = Problem(code="S014", detail={"override": shown, "reason": str(error), "source": "override"})
        return Checked(file=None, source="override", problems=[problem])
    return check_source(root, model, file=None, source="override")


def write_override(key: str, value: Any) -> str:
    """The override that sets a dotted key to a plain value; the inverse of reading one."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return f"{key}={_ESCAPED.sub(_escape, text)}"


def _tree(text: str) -> MappingNode:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals:
        raise ValueError("there is no `=`")
    parts = key.split(".")
    if not _KEY.fullmatch(key) or len(key) > _KEY_CHARACTERS or len(parts) > _MAX_PARTS:
        raise ValueError("before the `=` stands no dotted key")
    node: Node = _value(value)
    for part in reversed(parts):
        node = MappingNode(((part, 1, node),), 1)
    assert isinstance(node, MappingNode)  # noqa: S101
    return node


def _value(text: str) -> Node:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("the value is not UTF-8 text")
    try:
        return read_yaml(text)
    except NotYaml as error:
        raise ValueError(f"the value is not YAML: {error.reason}") from None
    except TooLarge as error:
        raise ValueError(f"the value has more than {error.limit}") from None


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
