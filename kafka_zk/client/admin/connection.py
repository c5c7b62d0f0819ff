"""One socket to one broker: requests out, answers in, versions agreed at the start.

Role        Acts. Synchronous: one request at a time, its answer is waited for. A connection that failed once is closed
            for good; its owner opens another.
Invariants  Nothing is sent before ApiVersions was answered, and that only once a connection.
Source      NetworkClient (doSend, handleApiVersionsResponse).
"""

from __future__ import annotations

import itertools
import socket
import struct
import time
from typing import TypeVar

from kafka_zk import __version__
from kafka_zk.client.addresses import Address, java_text, resolve
from kafka_zk.client.errors import DisconnectException, KafkaException, TimeoutException
from kafka_zk.client.network.node_versions import NodeVersions, key_of, stepped_back
from kafka_zk.protocol.errors import DecodeError, ErrorCode, error_class_for
from kafka_zk.protocol.header import decode_response_header, encode_request_header, response_header_is_flexible
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.api_versions import (
    API_VERSIONS_REQUEST,
    API_VERSIONS_RESPONSE,
    ApiVersionsRequest,
    ApiVersionsResponse,
)

Request = TypeVar("Request")
Response = TypeVar("Response")

SOFTWARE_NAME = "kafka-zk"
RESPONSE_SIZE_MAX_BYTES = 2**31 - 1


class ConnectFailed(DisconnectException):
    """No connection could be made. `address` is what was tried, as Java prints it."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"Connection to {address} could not be established: {reason}")
        self.address = address


class Connection:
    """An open connection; `versions` holds what the broker serves."""

    def __init__(
        self,
        address: Address,
        *,
        client_id: str,
        setup_timeout_ms: int,
        deadline_s: float,
        send_buffer_bytes: int = -1,
        receive_buffer_bytes: int = -1,
    ) -> None:
        """Blocks. Connect and agree on versions until `deadline_s` (time.monotonic).

        Raises ConnectFailed, DisconnectException, TimeoutException.
        """
        self._client_id = client_id
        self._correlation_ids = itertools.count()
        self._socket = _connect(address, setup_timeout_ms, deadline_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for option, size in ((socket.SO_SNDBUF, send_buffer_bytes), (socket.SO_RCVBUF, receive_buffer_bytes)):
                if size != -1:
                    self._socket.setsockopt(socket.SOL_SOCKET, option, size)
            self.versions = self._agree_on_versions(deadline_s)
        except BaseException:
            # Nobody else has it: whatever ended this, KeyboardInterrupt too, it would stay open.
            self.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def send(
        self, request: Message[Request], response: Message[Response], value: Request, *, version: int, deadline_s: float
    ) -> Response:
        """Blocks. Send one request and return its answer.

        Raises TimeoutException at `deadline_s` (the connection cannot be used after that), DisconnectException.
        """
        api_key = key_of(request)
        correlation_id = next(self._correlation_ids)
        header = encode_request_header(api_key, version, correlation_id, self._client_id)
        body = request.encode(value, version)
        try:
            self._set_timeout(deadline_s)
            self._socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
            frame = self._receive_frame(deadline_s)
        except TimeoutError as error:
            raise TimeoutException("The request timed out.") from error
        except OSError as error:
            raise DisconnectException(str(error)) from error
        return self._decode(frame, api_key, version, correlation_id, response)

    def _decode(
        self, frame: bytes, api_key: int, version: int, correlation_id: int, response: Message[Response]
    ) -> Response:
        try:
            found, position = decode_response_header(frame, response_header_is_flexible(api_key, version))
            if found != correlation_id:
                raise KafkaException(f"Correlation id for response ({found}) does not match request ({correlation_id})")
            if api_key == API_VERSIONS_REQUEST.api_key and _error_code(frame, position) != ErrorCode.NONE:
                # A broker that does not know the version asked for answers in version 0.
                version = 0
            return response.decode(frame, version, position)
        except DecodeError as error:
            raise KafkaException(f"Error reading response: {error}") from error

    def _agree_on_versions(self, deadline_s: float) -> NodeVersions:
        version = API_VERSIONS_REQUEST.max_version
        answer = self._api_versions(version, deadline_s)
        older = stepped_back(answer, version)
        if older is not None:
            answer = self._api_versions(older, deadline_s)
        if answer.error_code != ErrorCode.NONE:
            raise error_class_for(answer.error_code)
        return NodeVersions(answer)

    def _api_versions(self, version: int, deadline_s: float) -> ApiVersionsResponse:
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
        return self.send(API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE, request, version=version, deadline_s=deadline_s)

    def _receive_frame(self, deadline_s: float) -> bytes:
        (size,) = struct.unpack(">i", self._receive(4, deadline_s))
        if not 0 <= size <= RESPONSE_SIZE_MAX_BYTES:
            raise ConnectionResetError(f"Invalid receive (size = {size})")
        return self._receive(size, deadline_s)

    def _receive(self, size: int, deadline_s: float) -> bytes:
        received = bytearray()
        while len(received) < size:
            self._set_timeout(deadline_s)
            chunk = self._socket.recv(min(size - len(received), 1 << 20))
            if not chunk:
                raise ConnectionResetError("the broker closed the connection")
            received += chunk
        return bytes(received)

    def _set_timeout(self, deadline_s: float) -> None:
        left = deadline_s - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)


def _connect(address: Address, setup_timeout_ms: int, deadline_s: float) -> socket.socket:
    """Try the host's addresses in turn."""
    failure = ConnectFailed(str(address), "the name does not resolve")
    for family, target in resolve(address):
        left = min(setup_timeout_ms / 1000, deadline_s - time.monotonic())
        if left <= 0:
            raise TimeoutException("There was no time left to connect.")
        attempt = socket.socket(family, socket.SOCK_STREAM)
        attempt.settimeout(left)
        try:
            attempt.connect(target)
        except OSError as error:
            attempt.close()
            failure = ConnectFailed(f"{java_text(address.host, target[0])}:{address.port}", str(error))
            continue
        return attempt
    raise failure


def _error_code(frame: bytes, position: int) -> int:
    return int.from_bytes(frame[position : position + 2], "big", signed=True)
