"""Whether a TCP port can be bound on this machine, and who holds it if not."""

from __future__ import annotations

import errno
import socket

from fsdpwiz.facts.types import Port
from fsdpwiz.facts.unknown import UnknownFact


def read_port(number: int) -> Port:
    """Whether the rendezvous could listen on port `number` (1 to 65535) on every address of this machine."""
    if not 0 < number < 65536:
        raise UnknownFact(f"{number} is not a port (1 to 65535)")
    failures = [failure for family in _families() if (failure := _bind(family, number)) is not None]
    if not failures:
        return Port(source="measured", number=number, free=True)
    if errno.EADDRINUSE in failures:
        return Port(source="measured", number=number, free=False, holder=_holder(number))
    if errno.EACCES in failures:
        return Port(
            source="measured", number=number, free=False, holder="the system (below 1024, needs root)"
        )
    raise UnknownFact(f"port {number} cannot be tried: {errno.errorcode.get(failures[0], failures[0])}")


def _families() -> tuple[socket.AddressFamily, ...]:
    return (socket.AF_INET, socket.AF_INET6) if socket.has_ipv6 else (socket.AF_INET,)


def _bind(family: socket.AddressFamily, number: int) -> int | None:
    """None where the port could be bound or the machine lacks the family, else the error's number."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            # As the rendezvous store itself does: a port in TIME_WAIT is free, a listening one is not.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family is socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(("", number))
    except OSError as error:
        absent = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT)
        return None if family is socket.AF_INET6 and error.errno in absent else (error.errno or errno.EIO)
    return None


def _holder(number: int) -> str | None:
    """ "NAME (pid N)" of the process that listens on the port, None where that is not ours to know."""
    import psutil

    try:
        listening = [
            connection
            for connection in psutil.net_connections(kind="tcp")
            if connection.laddr
            and connection.laddr.port == number
            and connection.status == psutil.CONN_LISTEN
        ]
        pid = next((connection.pid for connection in listening if connection.pid), None)
        return None if pid is None else f"{psutil.Process(pid).name()} (pid {pid})"
    except (psutil.Error, OSError, RuntimeError):
        return None
