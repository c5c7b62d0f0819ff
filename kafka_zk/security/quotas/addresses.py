"""Resolves the address of an ip quota.

Role        Acts: asks the resolver of the system, off the loop.
Source      InetAddress.getByName in DynamicConfig.Ip.isValidIpEntity and IpConfigHandler.
"""

from __future__ import annotations

from gevent import socket

from kafka_zk.network.addresses import as_java_prints


def address_of(name: str) -> str | None:
    """Blocks, for a name that is no address. In the form in which listeners see clients; None if there is no such host.

    An empty name is this machine, as in Java.
    """
    try:
        return as_java_prints(name)
    except ValueError:
        pass
    try:
        # What cannot be a name would fail in the thread that resolves, with a traceback of its own.
        name.encode("idna")
        found = socket.getaddrinfo(name or "localhost", None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    # Java prefers IPv4.
    addresses = [str(address[0]) for family, _, _, _, address in found if family == socket.AF_INET]
    addresses = addresses or [str(address[0]) for _, _, _, _, address in found]
    return as_java_prints(addresses[0]) if addresses else None
