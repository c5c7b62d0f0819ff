"""/brokers/ids/N: a broker's registration; and /brokers/seqid.

Role        Pure.
Source      kafka.zk.BrokerIdZNode, BrokerSequenceIdZNode; versions 1 to 5 (KIP-103, KIP-392, KIP-584).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_zk.config.endpoints import SECURITY_PROTOCOLS, EndPoint
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.znodes import documents

VERSION_WITH_FEATURES = 5
LARGEST_ID = 2**31 - 1
_ID = re.compile(r"[0-9]{1,10}", re.ASCII)
_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """One broker's registration. `epoch` is the czxid of its znode, -1 while it has none.

    `endpoints` are the advertised ones. `features` maps a supported feature to its lowest and highest version.
    """

    broker_id: int
    endpoints: tuple[EndPoint, ...]
    rack: str | None = None
    jmx_port: int = -1
    timestamp_ms: int = 0
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    version: int = VERSION_WITH_FEATURES
    epoch: int = -1

    def endpoint(self, listener_name: str) -> EndPoint | None:
        return next((endpoint for endpoint in self.endpoints if endpoint.listener_name == listener_name), None)


class BrokerIdsZNode:
    """/brokers/ids: its children are the ids of the living brokers."""

    PATH = "/brokers/ids"

    @staticmethod
    def ids(names: Iterable[str]) -> list[int]:
        """Sorted ids of the children `names`. A child that is not a number was created by hand and is no broker.

        Differs from Kafka, whose controller cannot start while such a child is there.
        """
        return sorted(int(name) for name in names if _ID.fullmatch(name) and int(name) <= LARGEST_ID)


class BrokerIdZNode:
    """/brokers/ids/N, ephemeral."""

    @staticmethod
    def path(broker_id: int) -> str:
        return f"{BrokerIdsZNode.PATH}/{broker_id}"

    @staticmethod
    def encode(registration: BrokerRegistration) -> bytes:
        plaintext = next((e for e in registration.endpoints if e.security_protocol == "PLAINTEXT"), None)
        document: dict[str, object] = {
            "version": registration.version,
            # For readers of version 1, which know neither listeners nor encryption.
            "host": plaintext.host if plaintext else None,
            "port": plaintext.port if plaintext else -1,
            "jmx_port": registration.jmx_port,
            "timestamp": str(registration.timestamp_ms),
            "endpoints": [endpoint.connection_string for endpoint in registration.endpoints],
            "listener_security_protocol_map": {e.listener_name: e.security_protocol for e in registration.endpoints},
        }
        if registration.rack is not None:
            document["rack"] = registration.rack
        if registration.version >= VERSION_WITH_FEATURES:
            document["features"] = {
                name: {"min_version": lowest, "max_version": highest}
                for name, (lowest, highest) in registration.features.items()
            }
        return documents.write(document)

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None, broker_id: int) -> BrokerRegistration:
        """Raises MalformedZNode. Every version from 1 on is read; those of 2 and later are told apart by their keys."""

        def build(document: dict[str, Any]) -> BrokerRegistration:
            version = documents.integer(document["version"])
            if version < 1:
                raise ValueError(f"Unsupported version of broker registration: {version}")
            rack = document.get("rack")
            return BrokerRegistration(
                broker_id=broker_id,
                endpoints=_endpoints(version, document),
                rack=None if rack is None else documents.short_text(rack),
                jmx_port=documents.integer(document["jmx_port"]),
                timestamp_ms=int(document.get("timestamp", 0)),
                features={
                    name: (documents.integer(levels["min_version"]), documents.integer(levels["max_version"]))
                    for name, levels in (document.get("features") or {}).items()
                },
                version=version,
                epoch=stat.czxid if stat else -1,
            )

        return documents.read(data, BrokerIdZNode.path(broker_id), build)


def _endpoints(version: int, document: dict[str, Any]) -> tuple[EndPoint, ...]:
    if version == 1:
        host, port = documents.short_text(document["host"]), documents.integer(document["port"])
        return (EndPoint("PLAINTEXT", "PLAINTEXT", host, port),)
    protocols = documents.string_map(document.get("listener_security_protocol_map") or {})
    return tuple(_endpoint(documents.short_text(address), protocols) for address in document["endpoints"])


def _endpoint(address: str, protocols: Mapping[str, str]) -> EndPoint:
    parsed = _ENDPOINT.fullmatch(address)
    if parsed is None:
        raise ValueError(f"Unable to parse {address} to a broker endpoint")
    # Bounded again: some letters take more bytes in upper case.
    listener_name = documents.short_text(parsed.group(1).upper())
    # Without a map (versions 2 and 3) the listener is named after its protocol.
    protocol = protocols.get(listener_name, listener_name)
    if protocol not in SECURITY_PROTOCOLS:
        raise ValueError(f"{protocol} is not a security protocol")
    return EndPoint(listener_name, protocol, parsed.group(2), documents.integer(int(parsed.group(3))))


class BrokerSequenceIdZNode:
    """/brokers/seqid: its version numbers the brokers that ask for an id."""

    PATH = "/brokers/seqid"
