"""Bootstrap servers: parses `host:port` lists and resolves the names.

Role        Acts: asks the resolver.
Source      ClientUtils.parseAndValidateAddresses, Utils.getHost and getPort.
"""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

from kafka_zk.config.errors import ConfigException

BOOTSTRAP_SERVERS = "bootstrap.servers"
_HOST_AND_PORT = re.compile(r"^(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")

SocketAddress = tuple[Any, ...]
"""What socket.connect takes: a literal address, a port, and two more numbers for IPv6."""

log = logging.getLogger("org.apache.kafka.clients.ClientUtils")


class Address(NamedTuple):
    """Where a broker listens: a name or a literal address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def bootstrap_addresses(urls: Sequence[str]) -> list[Address]:
    """Blocks. Returns the bootstrap servers whose names resolve. Raises ConfigException if none is left."""
    addresses = []
    for url in urls:
        if not url:
            continue
        address = parse_address(url)
        if resolve(address):
            addresses.append(address)
        else:
            log.warning(
                "Couldn't resolve server %s from %s as DNS resolution failed for %s",
                url,
                BOOTSTRAP_SERVERS,
                address.host,
            )
    if not addresses:
        raise ConfigException(f"No resolvable bootstrap urls given in {BOOTSTRAP_SERVERS}")
    return addresses


def parse_address(url: str) -> Address:
    """`host:port`, `[::1]:9092` or `PLAINTEXT://host:port`. Raises ConfigException."""
    match = _HOST_AND_PORT.match(url)
    if match is None:
        raise ConfigException(f"Invalid url in {BOOTSTRAP_SERVERS}: {url}")
    host, port = match[1], int(match[2])
    if port > 65535:
        raise ConfigException(f"Invalid port in {BOOTSTRAP_SERVERS}: {url}")
    return Address(host, port)


def resolve(address: Address) -> list[tuple[int, SocketAddress]]:
    """Blocks. Returns socket family and address of every entry of the resolver, IPv4 first as in Java."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        # What is no valid name (an empty label, one of more than 63 characters, a NUL) never reaches the resolver. A
        # resolver that cannot read its files, for want of a descriptor, fails with the system's error, not its own.
        return []
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    return [(family, target) for family, _, _, _, target in found]


def java_text(host: str, address: str) -> str:
    """`name/address` as Java prints a resolved host; a literal address has no name."""
    return f"{'' if host == address else host}/{address}"
