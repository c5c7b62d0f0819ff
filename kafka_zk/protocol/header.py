"""Request and response headers.

Role        Decodes the header of every incoming frame (the first bytes of the hot path) and writes ours.
Invariants  Header v2 (tag section behind the client id) where the body is flexible, v1 otherwise, v0 (no client id)
            for ControlledShutdown v0 only. The client id is never compact. A response header has a tag section where
            the body is flexible, except for ApiVersions: a client that asked with an unknown version must be able
            to read the answer.
            A null client id reads as "". Versions are not checked here: dispatch does that.
Source      Kafka 3.9 RequestHeader.parse, ApiMessageType.requestHeaderVersion / responseHeaderVersion.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import struct
from typing import Final

from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.coding import compiled_header_reader
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.types import Buffer
from kafka_zk.protocol.wire import skip_tags

_API_VERSIONS_KEY: Final = 18
_CONTROLLED_SHUTDOWN_KEY: Final = 7

_FLEXIBLE_FROM: Final = {key: api.flexible_from for key, api in API_TABLE.items()}
_WITH_CLIENT_ID = struct.Struct(">hhih")
_WITHOUT_CLIENT_ID = struct.Struct(">hhi")
_LENGTH = struct.Struct(">h")


class RequestHeader:
    """The fields of a request before its body; `body_position` is where the body starts in the frame."""

    __slots__ = ("api_key", "api_version", "body_position", "client_id", "correlation_id")

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    body_position: int

    def __init__(
        self, api_key: int, api_version: int, correlation_id: int, client_id: str, body_position: int = 0
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.body_position = body_position

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RequestHeader):
            return NotImplemented
        return self._values() == other._values()

    def _values(self) -> tuple[int, int, int, str, int]:
        return self.api_key, self.api_version, self.correlation_id, self.client_id, self.body_position

    def __repr__(self) -> str:
        return (
            f"RequestHeader(api_key={self.api_key} v{self.api_version} correlation_id={self.correlation_id} "
            f"client_id={self.client_id!r})"
        )


def decode_request_header(frame: Buffer, position: int = 0) -> RequestHeader:
    """Read the header at `position`. Raises DecodeError: cut short, or an API key no ZooKeeper-mode broker has."""
    api_key, api_version, correlation_id, client_id, body_position = _read(frame, position, _FLEXIBLE_FROM)
    return RequestHeader(api_key, api_version, correlation_id, client_id, body_position)


def read_request_header(frame: Buffer, position: int, flexible_from: dict[int, int]) -> tuple[int, int, int, str, int]:
    """The fields of a RequestHeader, in Python; `flexible_from` is by key the first version with tags. DecodeError."""
    if position < 0:
        raise DecodeError("Error parsing request header: the frame ends inside it")
    api_key = 0
    try:
        api_key, api_version, correlation_id = _WITHOUT_CLIENT_ID.unpack_from(frame, position)
        flexible = api_version >= flexible_from[api_key]
        if api_key == _CONTROLLED_SHUTDOWN_KEY and api_version == 0:
            return api_key, api_version, correlation_id, "", position + 8
        (length,) = _LENGTH.unpack_from(frame, position + 8)
        position += 10
        client_id = ""
        if length > 0:
            client_id = str(frame[position : position + length], "utf-8", "replace")
            position += length
        if flexible:
            count = frame[position]
            position += 1
            if count:
                position = skip_tags(frame, position, count)
    except KeyError:
        raise DecodeError(f"Unknown API key {api_key}") from None
    except (struct.error, IndexError):
        position = len(frame) + 1
    if position > len(frame):
        raise DecodeError("Error parsing request header: the frame ends inside it")
    return api_key, api_version, correlation_id, client_id, position


_read: Final = read_request_header if compiled_header_reader is None else compiled_header_reader


def encode_request_header(api_key: int, api_version: int, correlation_id: int, client_id: str | None) -> bytes:
    """The header of a request that we send."""
    if api_key == _CONTROLLED_SHUTDOWN_KEY and api_version == 0:
        return _WITHOUT_CLIENT_ID.pack(api_key, api_version, correlation_id)
    text = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(text)
    tags = b"\0" if api_version >= _FLEXIBLE_FROM[api_key] else b""
    return _WITH_CLIENT_ID.pack(api_key, api_version, correlation_id, length) + text + tags


def response_header_is_flexible(api_key: int, api_version: int) -> bool:
    """Whether the answer to this request carries a tag section in its header."""
    return api_version >= _FLEXIBLE_FROM[api_key] and api_key != _API_VERSIONS_KEY


def encode_response_header(correlation_id: int, flexible: bool) -> bytes:
    """The header of a response; `flexible` as `response_header_is_flexible` says."""
    return correlation_id.to_bytes(4, "big", signed=True) + (b"\0" if flexible else b"")


def decode_response_header(frame: Buffer, flexible: bool, position: int = 0) -> tuple[int, int]:
    """The correlation id of a response and the position of its body. Raises DecodeError."""
    try:
        (correlation_id,) = struct.unpack_from(">i", frame, position)
        position += 4
        if flexible:
            count = frame[position]
            position += 1
            if count:
                position = skip_tags(frame, position, count)
    except (struct.error, IndexError) as error:
        raise DecodeError(f"Error parsing response header: {error}") from error
    if position > len(frame):
        raise DecodeError("Error parsing response header: the frame ends inside it")
    return correlation_id, position
