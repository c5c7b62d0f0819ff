"""One socket to one broker: handshake, login, versions, then requests and their responses.

Role        Acts. Synchronous: one request at a time, waiting for its response. A connection that failed once is closed
            for good; its owner opens another.
Invariants  Nothing is sent before the response to ApiVersions, which is sent once per connection.
Source      NetworkClient (doSend, handleApiVersionsResponse).
"""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Sequence
from typing import TypeVar

from kafka_zk.client.addresses import Address, java_text, resolve
from kafka_zk.client.errors import AuthenticationException, DisconnectException, TimeoutException
from kafka_zk.client.network.frames import SIZE, api_versions_request, decode_answer, encode_request, size_of_frame
from kafka_zk.client.network.node_versions import NodeVersions, key_of, stepped_back
from kafka_zk.client.network.security import NO_SECURITY, ConnectionSecurity, Login
from kafka_zk.client.network.transports import closed_before_an_answer, transport_of
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


class CutShort(DisconnectException):
    """The broker closed the connection before it was ready. `address` is as Java prints it."""

    def __init__(self, address: str, reason: DisconnectException, *, was_authenticated: bool = False) -> None:
        super().__init__(str(reason))
        self.address, self.reason, self.was_authenticated = address, reason, was_authenticated


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
        security: ConnectionSecurity = NO_SECURITY,
    ) -> None:
        """Blocks. Connect, shake hands, log in and agree on versions until `deadline_s` (time.monotonic).

        Raises ConnectFailed, CutShort, DisconnectException, TimeoutException, AuthenticationException.
        """
        self._client_id = client_id
        self._correlation_ids = itertools.count()
        self._is_first = True
        self._login: Login | None = None
        connected, tried = _connect(address, setup_timeout_ms, deadline_s)
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for option, size in ((socket.SO_SNDBUF, send_buffer_bytes), (socket.SO_RCVBUF, receive_buffer_bytes)):
                if size != -1:
                    connected.setsockopt(socket.SOL_SOCKET, option, size)
            self._transport = transport_of(connected, security.tls, address.host)
        except BaseException:
            connected.close()
            raise
        try:
            self._authenticate(security, address.host, tried, deadline_s)
            self.versions = self._agree_on_versions(tried, deadline_s, is_encrypted=security.tls is not None)
        except BaseException:
            # Close it here after any exception, KeyboardInterrupt too: no other code holds it.
            self.close()
            raise

    def close(self) -> None:
        self._transport.close()

    def send(
        self, request: Message[Request], response: Message[Response], value: Request, *, version: int, deadline_s: float
    ) -> Response:
        """Blocks. Send one request and return its answer.

        Raises TimeoutException at `deadline_s` (the connection cannot be used after that), DisconnectException.
        """
        if self._login is not None and time.monotonic() >= self._login.renew_at_s:
            time.sleep(max(0.0, min(self._login.renew_from_s, deadline_s) - time.monotonic()))
            self._log_in(self._login.again(), deadline_s)
        api_key = key_of(request)
        correlation_id = next(self._correlation_ids)
        pieces = encode_request(request, value, version, correlation_id=correlation_id, client_id=self._client_id)
        frame = self._exchange(pieces, deadline_s)
        return decode_answer(frame, response, api_key, version, correlation_id)

    def _authenticate(self, security: ConnectionSecurity, host: str, tried: str, deadline_s: float) -> None:
        try:
            self._shake_hands(deadline_s)
            if security.login is not None:
                login = security.login(host)
                self._log_in(login, deadline_s)
        except AuthenticationException as error:
            error.address = tried
            raise
        except DisconnectException as error:
            raise CutShort(tried, error) from error

    def _log_in(self, login: Login, deadline_s: float) -> None:
        self._login = login
        pieces = login.begin()
        while not login.is_complete:
            pieces = login.take(self._exchange(pieces, deadline_s))

    def _shake_hands(self, deadline_s: float) -> None:
        try:
            self._set_timeout(deadline_s)
            self._transport.handshake()
        except TimeoutError as error:
            raise TimeoutException("The TLS handshake timed out.") from error
        except OSError as error:
            raise DisconnectException(str(error)) from error

    def _exchange(self, pieces: Sequence[bytes], deadline_s: float) -> bytes:
        """Send one frame and receive one."""
        try:
            rest = memoryview(b"".join(pieces))
            while rest:
                self._set_timeout(deadline_s)
                rest = rest[self._transport.send(rest) :]
            return self._receive_frame(deadline_s)
        except TimeoutError as error:
            raise TimeoutException("The request timed out.") from error
        except OSError as error:
            raise DisconnectException(str(error)) from error

    def _agree_on_versions(self, tried: str, deadline_s: float, *, is_encrypted: bool) -> NodeVersions:
        version = API_VERSIONS_REQUEST.max_version
        try:
            answer = self._api_versions(version, deadline_s)
        except DisconnectException as error:
            if self._is_first and not is_encrypted and isinstance(error.__cause__, ConnectionError):
                error = closed_before_an_answer()
            raise CutShort(tried, error, was_authenticated=True) from error
        except AuthenticationException as error:
            error.address = tried
            raise
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
        size = size_of_frame(self._receive(SIZE.size, deadline_s), is_first=self._is_first)
        self._is_first = False
        return self._receive(size, deadline_s)

    def _receive(self, size: int, deadline_s: float) -> bytes:
        received, room = bytearray(), memoryview(bytearray(min(size, 1 << 20)))
        while len(received) < size:
            self._set_timeout(deadline_s)
            count = self._transport.recv_into(room[: size - len(received)])
            if not count:
                raise ConnectionResetError("the broker closed the connection")
            received += room[:count]
        return bytes(received)

    def _set_timeout(self, deadline_s: float) -> None:
        left = deadline_s - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._transport.settimeout(left)


def _connect(address: Address, setup_timeout_ms: int, deadline_s: float) -> tuple[socket.socket, str]:
    """Try the host's addresses in turn. Returns the socket, and the address as Java prints it."""
    failure = ConnectFailed(str(address), "the name does not resolve")
    for family, target in resolve(address):
        left = min(setup_timeout_ms / 1000, deadline_s - time.monotonic())
        if left <= 0:
            raise TimeoutException("There was no time left to connect.")
        attempt = None
        text = f"{java_text(address.host, target[0])}:{address.port}"
        try:
            # A system may have no socket for an address that its resolver names: no IPv6, no descriptor.
            attempt = socket.socket(family, socket.SOCK_STREAM)
            attempt.settimeout(left)
            attempt.connect(target)
        except OSError as error:
            if attempt is not None:
                attempt.close()
            failure = ConnectFailed(text, str(error))
            continue
        return attempt, text
    raise failure
