"""Which node of a run this is, where the nodes meet, and the command lines for the others."""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace

DEFAULT_PORT = 29500
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+))(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One of a run's nodes. `address` and `port` are where all meet, None where a run has one node only."""

    rank: int = 0
    address: str | None = None
    port: int | None = None


def parse_address(text: str) -> tuple[str, int | None]:
    """HOST, HOST:PORT or [IPV6]:PORT as (host, port); raises ValueError for anything else."""
    match = _ADDRESS.fullmatch(text)
    if match is None and re.fullmatch(r"[0-9A-Fa-f:]+:[0-9A-Fa-f:.]*", text):
        return text, None
    if match is None:
        raise ValueError(f"`{text}` is not HOST, HOST:PORT or [IPV6]:PORT")
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port < 65536:
        raise ValueError(f"{port} is not a port (1 to 65535)")
    return match["six"] or match["host"], port


def meeting_place(node: Node, nodes: int) -> Node:
    """`node` with the address and port at which all nodes meet.

    Where none was given this is node 0, and both are chosen; an address without port means the
    default port, for the other nodes were told no other.
    """
    if nodes == 1 or (node.address is not None and node.port is not None):
        return node
    port = node.port or (DEFAULT_PORT if node.address is not None else free_port())
    return replace(node, address=node.address or own_address(), port=port)


def own_address() -> str:
    """The address of this machine that others can reach: that of its default route, else its name.

    Nothing is sent: connecting a datagram socket only asks the routing table.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            address = str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
    return socket.gethostname() if address.startswith(("0.", "127.")) else address


def free_port(preferred: int = DEFAULT_PORT) -> int:
    """`preferred` where it can be listened on, else one that the system picks."""
    for port in (preferred, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("", port))
            except OSError:
                continue
            return int(listener.getsockname()[1])
    raise OSError("no port can be listened on")


def lines_for_others(words: Sequence[str], node: Node, nodes: int, *, run_id: str | None) -> list[str]:
    """The command of each other node: `words` of this one's command line and where to meet."""
    host = f"[{node.address}]" if ":" in (node.address or "") else node.address
    meeting = ["--main-address", f"{host}:{node.port}"]
    identity = ["--run-id", run_id] if run_id is not None else []
    return [
        shlex.join([*words, "--node-rank", str(rank), *meeting, *identity])
        for rank in range(nodes)
        if rank != node.rank
    ]
