"""The versions one broker supports, and which of them a request uses.

Role        Pure. Every connection begins with an ApiVersions exchange; this reads its answer.
Invariants  The version of a request is the highest that this client and the broker both have.
Source      NodeApiVersions.latestUsableVersion, NetworkClient.handleApiVersionsResponse; KIP-511.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import ErrorCode, UnsupportedVersion
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, ApiVersionsResponse


class NodeVersions:
    """The versions that a broker serves."""

    def __init__(self, answer: ApiVersionsResponse) -> None:
        self._ranges = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    def __repr__(self) -> str:
        return f"NodeVersions({self._ranges})"

    def version_for(self, request: Message[Any], max_version: int | None = None) -> int:
        """The version to use for a request, not above `max_version`. Raises UnsupportedVersion where there is none."""
        api_key = key_of(request)
        low, high = self._ranges.get(api_key, (0, -1))
        version = min(high, request.max_version if max_version is None else max_version)
        if version < max(low, request.min_version):
            name = _screaming(API_TABLE[api_key].name)
            if api_key not in self._ranges:
                raise UnsupportedVersion(f"The node does not support {name}")
            raise UnsupportedVersion(
                f"The node does not support {name} with version in range "
                f"[{request.min_version},{request.max_version}]. The supported range is [{low},{high}]."
            )
        return version


def stepped_back(answer: ApiVersionsResponse, tried_version: int) -> int | None:
    """The ApiVersions version to ask again with, after a broker that does not know `tried_version` answered.

    None: take the response as it is. A broker that names no version is asked in version 0.
    """
    if answer.error_code != ErrorCode.UNSUPPORTED_VERSION or tried_version == 0:
        return None
    offered = {api.api_key: api.max_version for api in answer.api_keys}
    return min(tried_version - 1, offered.get(key_of(API_VERSIONS_REQUEST), 0))


def key_of(message: Message[Any]) -> int:
    """The API key of a request's declaration."""
    assert message.api_key is not None, f"{message.name} is not a request"
    return message.api_key


def _screaming(name: str) -> str:
    """CreateTopics -> CREATE_TOPICS, as Java's ApiKeys prints itself."""
    return "".join(f"_{letter}" if letter.isupper() else letter for letter in name)[1:].upper()
