"""One connection that sends any request in any version, and shows what came back: for tests and comparisons only."""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import Iterable
from typing import Any

from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.header import decode_response_header, encode_request_header, response_header_is_flexible
from kafka_zk.protocol.message import Message


class ConnectionClosed(Exception):
    """The broker closed the connection instead of answering."""


class RawClient:
    """A plain connection to `host:port`, and nothing remembered between requests."""

    def __init__(
        self,
        bootstrap: str,
        client_id: str | None = "raw",
        timeout_s: float = 30,
        receive_buffer_bytes: int | None = None,
        own_host: str = "",
    ) -> None:
        """`own_host`: the address that the broker sees, one of this machine's."""
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if receive_buffer_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self._socket.settimeout(timeout_s)
        try:
            if own_host:
                self._socket.bind((own_host, 0))
            self._socket.connect((host, int(port)))
        except OSError:
            self._socket.close()
            raise
        self._client_id = client_id
        self._correlation_ids = itertools.count(1)

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def send(self, message: Message[Any], request: Any, version: int) -> Any:
        """Send one request and wait for its decoded answer. Raises ConnectionClosed."""
        key = message.api_key
        assert key is not None
        correlation_id = self.post(message, request, version)
        frame = self.receive_frame()
        found, position = decode_response_header(frame, response_header_is_flexible(key, version))
        assert found == correlation_id, f"answer {found} to request {correlation_id}"
        return API_TABLE[key].response.decode(frame, version, position)

    def post(self, message: Message[Any], request: Any, version: int) -> int:
        """Send one request, or the bytes of its body, without waiting; its correlation id."""
        key = message.api_key
        assert key is not None
        correlation_id = next(self._correlation_ids)
        header = encode_request_header(key, version, correlation_id, self._client_id)
        body = request if isinstance(request, bytes) else bytes(message.encode(request, version))
        self.send_frame(header + body)
        return correlation_id

    def send_frame(self, frame: bytes) -> None:
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self.receive_exactly(4))
        return self.receive_exactly(size)

    def receive_exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            try:
                chunk = self._socket.recv(size - len(received))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise ConnectionClosed
            received += chunk
        return bytes(received)


def all_versions(message: Message[Any]) -> Iterable[int]:
    return range(message.min_version, message.max_version + 1)


def as_plain(value: Any) -> Any:
    """A decoded message as dictionaries and lists."""
    if isinstance(value, list):
        return [as_plain(item) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if hasattr(value, "__slots__") and hasattr(type(value), "__eq__") and type(value).__module__.startswith("kafka_zk"):
        return {name: as_plain(getattr(value, name)) for name in value.__slots__}
    return value
