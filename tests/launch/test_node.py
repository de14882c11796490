import shlex
import socket

import pytest

from fsdpwiz.launch.node import (
    DEFAULT_PORT,
    Node,
    free_port,
    lines_for_others,
    meeting_place,
    own_address,
    parse_address,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node1", ("node1", None)),
        ("node-1.cluster:2000", ("node-1.cluster", 2000)),
        ("10.0.0.1:65535", ("10.0.0.1", 65535)),
        ("[::1]:29500", ("::1", 29500)),
        ("[fe80::1]", ("fe80::1", None)),
        ("::1", ("::1", None)),
    ],
)
def test_addresses(text, expected):
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text", ["", ":29500", "a b", "host:0", "host:65536", "host:x", "host:1:2", "-x; rm", "a/b"]
)
def test_no_addresses(text):
    with pytest.raises(ValueError):
        parse_address(text)


def test_a_port_in_use_is_not_chosen():
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        number = taken.getsockname()[1]
        assert free_port(number) not in (0, number)


def test_meeting_place():
    assert meeting_place(Node(), 1) == Node()
    given = Node(rank=1, address="a", port=1)
    assert meeting_place(given, 2) == given
    assert meeting_place(Node(address="a"), 2).port == DEFAULT_PORT
    chosen = meeting_place(Node(), 2)
    assert chosen.address == own_address() and chosen.port


def test_lines_for_others_are_ready_for_a_shell():
    node = Node(address="10.0.0.1", port=29500)
    words = ["fsdpwiz", "run", "my recipe.yaml", "sft.max_steps=3"]
    lines = lines_for_others(words, node, 3, run_id="20260101-000000")
    assert [shlex.split(line) for line in lines] == [
        [*words, "--node-rank", rank, "--main-address", "10.0.0.1:29500", "--run-id", "20260101-000000"]
        for rank in ("1", "2")
    ]


def test_lines_for_others_with_an_ipv6_address():
    (line,) = lines_for_others(["fsdpwiz"], Node(address="fe80::1", port=1), 2, run_id=None)
    assert shlex.split(line)[-1] == "[fe80::1]:1"
