"""Which versions of which APIs a broker on an open connection serves.

Role        Acts: asks with ApiVersions, once per connection.
Source      NetworkClient.handleInitiateApiVersionRequests, NodeApiVersions.latestUsableVersion.
"""

from __future__ import annotations

from typing import Any, Protocol

from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import UnsupportedVersion
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, ApiVersionsRequest

API_VERSIONS_VERSION = 3

_KEYS = {f"{api.name}Request": api for api in API_TABLE.values()}


class Channel(Protocol):
    """What is used of network.channel.BrokerChannel."""

    def send(self, request: Any, api_version: int) -> Any: ...

    def close(self) -> None: ...


class PeerVersions:
    """The answer of one peer; `ranges` are its lowest and highest version by API key."""

    def __init__(self, peer: object, ranges: dict[int, tuple[int, int]]) -> None:
        self._peer = peer
        self._ranges = ranges

    @classmethod
    def ask(cls, channel: Channel, peer: object) -> PeerVersions:
        """Blocks. `peer` is how errors name it. Raises NetworkError."""
        answer = channel.send(
            ApiVersionsRequest(client_software_name="kafka-zk", client_software_version="3.9.1"),
            API_VERSIONS_VERSION,
        )
        return cls(peer, {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys})

    def version_for(self, request: Any, *, lowest: int = 0, highest: int | None = None) -> int:
        """The highest version that both sides know, at most `highest`. Raises UnsupportedVersion below `lowest`."""
        api = _KEYS[type(request).__name__]
        low, high = self._ranges.get(api.key, (0, -1))
        version = min(high, api.request.max_version)
        if highest is not None:
            version = min(version, highest)
        if version < max(low, api.request.min_version, lowest):
            raise UnsupportedVersion(f"{self._peer} does not support {api.name}")
        return version


assert API_VERSIONS_REQUEST.max_version >= API_VERSIONS_VERSION
