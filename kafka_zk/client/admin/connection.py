"""One socket to one broker: negotiates versions, sends requests, reads responses.

Role        Acts. Synchronous: one request at a time, waiting for its response. A connection that failed once is closed
            for good; its owner opens another.
Invariants  Nothing is sent before the response to ApiVersions, which is sent once per connection.
Source      NetworkClient (doSend, handleApiVersionsResponse).
"""

from __future__ import annotations

import itertools
import socket
import time
from typing import TypeVar

from kafka_zk.client.addresses import Address, java_text, resolve
from kafka_zk.client.errors import DisconnectException, TimeoutException
from kafka_zk.client.network.frames import SIZE, api_versions_request, decode_answer, encode_request, size_of_frame
from kafka_zk.client.network.node_versions import NodeVersions, key_of, stepped_back
from kafka_zk.protocol.errors import ErrorCode, error_class_for
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.api_versions import (
    API_VERSIONS_REQUEST,
    API_VERSIONS_RESPONSE,
    ApiVersionsResponse,
)

Request = TypeVar("Request")
Response = TypeVar("Response")


class ConnectFailed(DisconnectException):
    """No connection could be made. `address` is the address tried, as Java prints it."""

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
            # Close it here after any exception, KeyboardInterrupt too: no other code holds it.
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
        pieces = encode_request(request, value, version, correlation_id=correlation_id, client_id=self._client_id)
        try:
            self._set_timeout(deadline_s)
            self._socket.sendall(b"".join(pieces))
            frame = self._receive_frame(deadline_s)
        except TimeoutError as error:
            raise TimeoutException("The request timed out.") from error
        except OSError as error:
            raise DisconnectException(str(error)) from error
        return decode_answer(frame, response, api_key, version, correlation_id)

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
        request = api_versions_request()
        return self.send(API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE, request, version=version, deadline_s=deadline_s)

    def _receive_frame(self, deadline_s: float) -> bytes:
        size = size_of_frame(self._receive(SIZE.size, deadline_s))
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
        attempt = None
        try:
            # A system may have no socket for an address that its resolver names: no IPv6, no descriptor.
            attempt = socket.socket(family, socket.SOCK_STREAM)
            attempt.settimeout(left)
            attempt.connect(target)
        except OSError as error:
            if attempt is not None:
                attempt.close()
            failure = ConnectFailed(f"{java_text(address.host, target[0])}:{address.port}", str(error))
            continue
        return attempt
    raise failure
