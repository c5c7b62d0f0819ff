"""Listeners: parses `NAME://host:port` lists and protocol maps, and checks them against each other.

Role        Pure.
Invariants  Listener names are upper case and unique within a list.
Source      EndPoint.scala, SocketServerConfigs.listenerListToEndPoints (CoreUtils), ListenerName.normalised.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import NamedTuple

from kafka_zk.config.errors import ConfigException, require

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_END_POINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_COMMA = re.compile(r"\s*,\s*", re.ASCII)


class EndPoint(NamedTuple):
    """One address. `host` is "" for every interface (listening) or this machine's own name (advertised)."""

    listener_name: str
    security_protocol: str
    host: str
    port: int

    @property
    def connection_string(self) -> str:
        """The address as znodes and log lines show it; IPv6 hosts in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener_name}://{host}:{self.port}"

    def __str__(self) -> str:
        return self.connection_string


def split_csv(text: str) -> list[str]:
    """Entries of a comma list, trimmed, the empty ones left out."""
    return [entry for entry in _COMMA.split(text.strip()) if entry]


def parse_csv_map(name: str, text: str) -> dict[str, str]:
    """`a:1,b:2` as a dict; the last colon of an entry counts, so keys may be IPv6 addresses."""
    result = {}
    for entry in split_csv(text):
        key, colon, value = entry.rpartition(":")
        if not colon:
            # Kafka lets Java's own message through.
            reason = f"begin 0, end -1, length {len(entry)}"
            raise ConfigException(f"Error parsing configuration property '{name}': {reason}")
        result[key.strip()] = value.strip()
    return result


def parse_security_protocol_map(text: str) -> dict[str, str]:
    """Listener name to security protocol, both upper case."""
    name = "listener.security.protocol.map"
    protocols = {}
    for listener_name, protocol in parse_csv_map(name, text).items():
        if protocol.upper() not in SECURITY_PROTOCOLS:
            raise ConfigException(f"Invalid security protocol `{protocol}` defined in {name}")
        protocols[listener_name.upper()] = protocol.upper()
    return protocols


def parse_end_points(text: str, protocols: Mapping[str, str], *, distinct_ports: bool) -> list[EndPoint]:
    """The addresses of a list. With `distinct_ports` two may share a port only as an IPv4 and IPv6 pair."""
    try:
        end_points = [_parse_end_point(entry, protocols) for entry in split_csv(text)]
    except ConfigException as error:
        raise ConfigException(f"Error creating broker listeners from '{text}': {error}") from None
    names = [end_point.listener_name for end_point in end_points]
    require(len(set(names)) == len(names), f"Each listener must have a different name, listeners: {text}")
    if distinct_ports:
        _check_shared_ports(end_points, text)
    return end_points


def _parse_end_point(entry: str, protocols: Mapping[str, str]) -> EndPoint:
    match = _END_POINT.fullmatch(entry)
    if match is None:
        raise ConfigException(f"Unable to parse {entry} to a broker endpoint")
    if not -(2**31) <= int(match[3]) < 2**31:
        raise ConfigException(f'For input string: "{match[3]}"')
    listener_name = match[1].upper()
    if listener_name not in protocols:
        raise ConfigException(f"No security protocol defined for listener {listener_name}")
    return EndPoint(listener_name, protocols[listener_name], match[2], int(match[3]))


def _check_shared_ports(end_points: list[EndPoint], text: str) -> None:
    by_port: dict[int, list[EndPoint]] = {}
    for end_point in end_points:
        if end_point.port != 0:
            by_port.setdefault(end_point.port, []).append(end_point)
    for port, sharing in by_port.items():
        if len(sharing) > 1:
            _check_shared_port(port, [_ip_version(end_point.host) for end_point in sharing], text)


def _check_shared_port(port: int, ip_versions: list[int | None], text: str) -> None:
    """`ip_versions` are those of the listeners on `port`, None for a host name."""
    addresses = [version for version in ip_versions if version is not None]
    names = len(ip_versions) - len(addresses)
    require(names <= 1, f"Each listener must have a different port, listeners: {text}")
    if len(addresses) != 2:
        raise ConfigException(
            "Each listener must have a different port unless exactly one listener has an IPv4 address "
            f"and the other IPv6 address, listeners: {text}, port: {port}"
        )
    pair = (
        "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, "
        f"listeners: {text}, port: {port}"
    )
    require(set(addresses) == {4, 6}, pair)
    if names:
        raise ConfigException(pair)


def _ip_version(host: str) -> int | None:
    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return None
