"""Encodes requests into frames and decodes responses from frames.

Role        Pure. What the connections of all clients send and read, synchronous ones and others.
Source      RequestHeader, NetworkClient.parseResponse.
"""

from __future__ import annotations

import struct
from typing import Any, Final, TypeVar

from kafka_zk import __version__
from kafka_zk.client.errors import KafkaException, ProtocolMismatch
from kafka_zk.client.network.node_versions import key_of
from kafka_zk.protocol.errors import DecodeError, ErrorCode
from kafka_zk.protocol.header import decode_response_header, encode_request_header, response_header_is_flexible
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, ApiVersionsRequest
from kafka_zk.protocol.types import Buffer

Response = TypeVar("Response")

SOFTWARE_NAME: Final = "kafka-zk"
SIZE: Final = struct.Struct(">i")
TLS_ALERT: Final = b"\x15\x03"
"""How a TLS server answers plain text: an alert, in any version."""


def encode_request(
    request: Message[Any], value: Any, version: int, *, correlation_id: int, client_id: str
) -> list[bytes]:
    """One frame in pieces, its size first. Raises UnsupportedVersion if this version would lose a field."""
    body = request.encode(value, version)
    header = encode_request_header(key_of(request), version, correlation_id, client_id)
    return [SIZE.pack(len(header) + len(body)) + header, body]


def decode_answer(
    frame: Buffer, response: Message[Response], api_key: int, version: int, correlation_id: int
) -> Response:
    """The answer to a request. Its records are views into the frame. Raises KafkaException for invalid bytes."""
    try:
        found, position = decode_response_header(frame, response_header_is_flexible(api_key, version))
        if found != correlation_id:
            raise KafkaException(f"Correlation id for response ({found}) does not match request ({correlation_id})")
        if api_key == API_VERSIONS_REQUEST.api_key and _error_code(frame, position) != ErrorCode.NONE:
            # A broker that does not know the requested version answers in version 0.
            version = 0
        return response.decode(frame, version, position)
    except DecodeError as error:
        raise KafkaException(f"Error reading response: {error}") from error


def size_of_frame(head: Buffer, *, is_first: bool = False) -> int:
    """The length in the first four bytes. Raises ConnectionResetError for an impossible one, ProtocolMismatch.

    The first frame of a connection is short: what looks like a TLS record is one.
    """
    size: int = SIZE.unpack_from(head)[0]
    if is_first and bytes(head[:2]) == TLS_ALERT:
        raise ProtocolMismatch("it answers with TLS: is security.protocol=SSL or SASL_SSL missing?")
    if size < 0:
        raise ConnectionResetError(f"Invalid receive (size = {size})")
    return size


def api_versions_request() -> ApiVersionsRequest:
    """The first request of every connection."""
    return ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)


def _error_code(frame: Buffer, position: int) -> int:
    return int.from_bytes(frame[position : position + 2], "big", signed=True)
