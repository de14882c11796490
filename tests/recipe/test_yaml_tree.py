"""The YAML reader: the same values as another reader, lines, and bounds on what is made to exhaust it."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from fsdpwiz.recipe.yaml_tree import (
    MAX_DEPTH,
    MAX_NODES,
    MappingNode,
    NotYaml,
    SequenceNode,
    TooLarge,
    plain,
    read_yaml,
)

_SAMPLE = """\
a: 1
b:
  c: [1, 2, {d: x}]
  e: |
    two
    lines
f: 'no'
g: >-
  folded
  text
h: "a\\tb"
"""


def test_same_values_as_ruamel() -> None:
    assert plain(read_yaml(_SAMPLE)) == YAML(typ="safe", pure=True).load(_SAMPLE)


def test_lines_are_those_of_the_keys() -> None:
    root = read_yaml(_SAMPLE)
    assert isinstance(root, MappingNode)
    assert [(key, line) for key, line, _ in root.entries] == [
        ("a", 1),
        ("b", 2),
        ("f", 7),
        ("g", 8),
        ("h", 11),
    ]
    inner = root.entries[1][2]
    assert isinstance(inner, MappingNode)
    assert [(key, line) for key, line, _ in inner.entries] == [("c", 3), ("e", 4)]
    items = inner.entries[0][2]
    assert isinstance(items, SequenceNode)
    assert items.line == 3


def test_raw_text_is_kept_beside_the_value() -> None:
    root = read_yaml("a: 0x10\nb: '0x10'\n")
    assert isinstance(root, MappingNode)
    nodes = {key: node for key, _, node in root.entries}
    assert [(node.value, node.raw) for node in nodes.values()] == [(16, "0x10"), ("0x10", "0x10")]  # type: ignore[union-attr]


def _aliases(levels: int) -> str:
    rows = (f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, levels))
    return "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(rows)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (_aliases(12), 5),
        ("[" * 100_000, 1),
        ("{a: " * 50_000, 1),
        ("- " * 100_000, 1),
        ("? " * 100_000, 1),
        ("".join(" " * depth + "a:\n" for depth in range(1200)), MAX_DEPTH + 1),
        ("a: x\n" * 180_000, MAX_NODES // 2),
        ("a: &a [" + "x," * 15_000 + "]\nb: *a\n", 2),
    ],
    ids=["aliases", "lists", "mappings", "dashes", "question marks", "indents", "many", "doubled"],
)
def test_too_much_is_refused_soon(text: str, line: int) -> None:
    start = time.process_time()
    with pytest.raises(TooLarge) as raised:
        read_yaml(text)
    assert raised.value.line == line
    assert time.process_time() - start < 10


def test_what_is_below_the_bounds_is_read() -> None:
    assert plain(read_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH)) is not None
    assert len(plain(read_yaml("[" + "x," * (MAX_NODES - 1) + "]"))) == MAX_NODES - 1


_YAML_LIKE = st.text(
    st.sampled_from("ab: -[]{},&*!|>'\"%@`#\n\t?\\<=~.0123456789eE\r\u2028\ufeff"), max_size=60
)


@settings(deadline=None, max_examples=600)
@given(_YAML_LIKE | st.text(max_size=60))
@example("%YAML 1.1\n---\na: no")
@example("? a\n? b")
@example("&a &b c")
@example("!<tag:yaml.org,2002:int> 5")
@example("a: !!null x")
@example("---\n---\n")
@example("\ud800")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_yaml(text)
    except (NotYaml, TooLarge) as error:
        assert str(error)


_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("abc 1:#"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(_PLAIN)
def test_json_is_read_as_json(value: object) -> None:
    import json

    assert plain(read_yaml(json.dumps(value))) == value
