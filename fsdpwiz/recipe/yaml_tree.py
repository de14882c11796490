"""YAML text as a tree of plain nodes that know their lines, bounded in size and depth.

Only the safe subset: mappings, sequences and the scalars of YAML 1.2's core schema. Aliases are
expanded and count as often as they are used; tags that would build an object are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from fsdpwiz.core.text import visible
from fsdpwiz.recipe.scalar import Scalar, resolve

MAX_DEPTH = 32
MAX_NODES = 20_000

_TAG = "tag:yaml.org,2002:"
_CORE_TAGS = {
    MappingStartEvent: (f"{_TAG}map",),
    SequenceStartEvent: (f"{_TAG}seq",),
    ScalarEvent: tuple(f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null")),
}
_REASON_CHARACTERS = 160


class NotYaml(Exception):  # noqa: N818
    """The text is not YAML, or uses what a recipe may not; `line` is 1-based."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class TooLarge(Exception):  # noqa: N818
    """The tree is larger or deeper than a recipe can be."""

    def __init__(self, limit: str, line: int | None = None) -> None:
        super().__init__(limit)
        self.limit = limit
        self.line = line


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """`raw` is the text as written, quotes off; `line` is 1-based."""

    value: Scalar
    raw: str
    line: int


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """`line` is where the list begins."""

    items: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class MappingNode:
    """`entries` are (key, line of the key, value) in their order; a key may stand twice."""

    entries: tuple[tuple[str, int, Node], ...]
    line: int


Node = ScalarNode | SequenceNode | MappingNode


def read_yaml(text: str) -> Node:
    """The tree of the one document in `text` (a null scalar where it is empty).

    Raises NotYaml and TooLarge, nothing else, whatever the text is.
    """
    try:
        return _Builder(iter(YAML(typ="safe", pure=True).parse(text))).document()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise NotYaml(_reason(error), None if mark is None else mark.line + 1) from None
    except YAMLError as error:
        raise NotYaml(_reason(error)) from None
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, AssertionError) as error:
        raise NotYaml(f"the YAML reader failed on it ({type(error).__name__})") from None


def plain(node: Node) -> Any:
    """The value of a tree as dict, list and scalars; of a key that stands twice the first counts."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.items]
    found: dict[str, Any] = {}
    for key, _, value in node.entries:
        if key not in found:
            found[key] = plain(value)
    return found


def _reason(error: YAMLError) -> str:
    text = (getattr(error, "problem", None) or str(error).partition("\n")[0] or "it is not YAML").strip()
    if r"'\t'" in text:
        text = "a tab is used where YAML wants spaces"
    return visible(" ".join(text.split()), limit=_REASON_CHARACTERS)


class _Builder:
    """Builds the tree from the parser's events, counting as it goes."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._anchors: dict[str, Node | None] = {}
        self._count = 0

    def document(self) -> Node:
        root: Node | None = None
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    raise NotYaml("a second document begins; a recipe is one", _line(event))
                root = self._node(next(self._events), 0)
        return root if root is not None else ScalarNode(None, "", 1)

    def _node(self, event: Event, depth: int) -> Node:
        self._admit(1, depth, event)
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        assert isinstance(event, NodeEvent)  # noqa: S101
        self._check_tag(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        node = self._built(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _built(self, event: NodeEvent, depth: int) -> Node:
        if isinstance(event, ScalarEvent):
            return _scalar(event)
        within = depth + 1
        if isinstance(event, SequenceStartEvent):
            items = tuple(self._node(item, within) for item in self._until(SequenceEndEvent))
            return SequenceNode(items, _line(event))
        entries = tuple(self._entry(key, within) for key in self._until(MappingEndEvent))
        return MappingNode(entries, _line(event))

    def _until(self, end: type[Event]) -> Iterator[Event]:
        """The first event of each following node; its other events must be taken before the next."""
        while not isinstance(event := next(self._events), end):
            yield event

    def _entry(self, event: Event, depth: int) -> tuple[str, int, Node]:
        line = _line(event)
        key = self._node(event, depth)
        if not isinstance(key, ScalarNode):
            raise NotYaml("a key must be a word, not a mapping or a list", line)
        return key.raw, line, self._node(next(self._events), depth)

    def _alias(self, event: AliasEvent, depth: int) -> Node:
        node = self._anchors.get(event.anchor)
        if node is None:
            raise NotYaml(
                f"the alias `*{visible(event.anchor, limit=40)}` has no anchor before it", _line(event)
            )
        self._admit(_size(node, MAX_NODES - self._count + 1) - 1, depth + _depth(node), event)
        return node

    def _admit(self, nodes: int, depth: int, event: Event) -> None:
        self._count += nodes
        if self._count > MAX_NODES:
            raise TooLarge(f"{MAX_NODES} values", _line(event))
        if depth > MAX_DEPTH:
            raise TooLarge(f"{MAX_DEPTH} levels of nesting", _line(event))

    @staticmethod
    def _check_tag(event: NodeEvent) -> None:
        tag = _tag(event)
        if tag not in (None, "!") and tag not in _CORE_TAGS[type(event)]:
            raise NotYaml(f"the tag `{visible(tag, limit=60)}` is not allowed", _line(event))


def _scalar(event: ScalarEvent) -> ScalarNode:
    raw = str(event.value)
    if any("\ud800" <= character <= "\udfff" for character in raw):
        raise NotYaml("a character is half of a surrogate pair", _line(event))
    tag = _tag(event)
    if tag is None and event.implicit[0]:
        return ScalarNode(resolve(raw), raw, _line(event))
    if tag in (None, "!", f"{_TAG}str"):
        return ScalarNode(raw, raw, _line(event))
    value = resolve(raw)
    if not _tagged(tag, value):
        raise NotYaml(f"`{visible(raw, limit=40)}` is not of its tag `{tag}`", _line(event))
    return ScalarNode(value, raw, _line(event))


def _tagged(tag: str, value: Scalar) -> bool:
    kinds = {"int": int, "float": float, "bool": bool, "null": type(None)}
    return type(value) is kinds[tag.removeprefix(_TAG)]


def _size(node: Node, limit: int) -> int:
    """The number of nodes of a tree, counted up to just beyond `limit`."""
    count, waiting = 0, [node]
    while waiting and count <= limit:
        count += 1
        waiting += _children(waiting.pop())
    return count


def _depth(node: Node) -> int:
    return 1 + max((_depth(child) for child in _children(node)), default=0) if _children(node) else 0


def _children(node: Node) -> list[Node]:
    if isinstance(node, SequenceNode):
        return list(node.items)
    return [value for _, _, value in node.entries] if isinstance(node, MappingNode) else []


def _tag(event: NodeEvent) -> str | None:
    tag = getattr(event, "ctag", None)
    return None if tag is None or str(tag) == "None" else str(tag)


def _line(event: Event) -> int:
    return int(event.start_mark.line) + 1
