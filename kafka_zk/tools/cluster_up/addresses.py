"""Addresses that must be free, or answer, before a broker is started.

Role        Acts: opens sockets, and closes them again.
"""

from __future__ import annotations

import errno
import socket
from contextlib import suppress

CONNECT_S = 3
ZOOKEEPER_PORT = 2181


def problem_of(host: str, port: int) -> str | None:
    """Why nobody can listen there now, as the end of a sentence; None if a broker can. "" is every interface."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return f"cannot be opened: the host {host} is not known"
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind(address)
                listener.listen()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return "is taken by another program"
            if family == socket.AF_INET or host:
                return f"cannot be opened: {error.strerror}"
    return None


def zookeepers_of(connect: str) -> list[tuple[str, int]]:
    """The (host, port) pairs of a zookeeper.connect."""
    pairs = []
    for server in connect.partition("/")[0].split(","):
        host, colon, port = server.strip().rpartition(":")
        if not colon or server.endswith("]"):
            host, port = server.strip(), str(ZOOKEEPER_PORT)
        pairs.append((host.strip("[]"), int(port) if port.isdecimal() else 0))
    return pairs


def one_accepts(servers: list[tuple[str, int]]) -> bool:
    """Blocks. Whether one of them accepts a connection."""
    for server in servers:
        with suppress(OSError, OverflowError):
            socket.create_connection(server, timeout=CONNECT_S).close()
            return True
    return False
