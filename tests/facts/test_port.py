import os
import socket

import pytest

from fsdpwiz.facts.port import read_port
from fsdpwiz.facts.unknown import UnknownFact


@pytest.fixture
def listener():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        yield held.getsockname()[1]


def test_a_port_in_use_names_its_holder(listener):
    port = read_port(listener)
    assert not port.free
    assert port.holder is None or port.holder.endswith(f"(pid {os.getpid()})")


def test_a_port_in_use_on_ipv6_only():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with socket.socket(socket.AF_INET6) as held:
        held.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            held.bind(("::", 0))
        except OSError:
            pytest.skip("no IPv6 here")
        held.listen()
        assert not read_port(held.getsockname()[1]).free


def test_a_free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        number = probe.getsockname()[1]
    assert read_port(number).free


@pytest.mark.parametrize("number", [0, -1, 65536, 10**9])
def test_no_port_at_all(number):
    with pytest.raises(UnknownFact, match="is not a port"):
        read_port(number)
