"""A connection to a broker: sends requests, matches responses by correlation id.

Role        Used by the controller's channels, the node-to-controller channel and the follower fetchers. Knows nothing
            of retries: when it fails once it is closed, every waiting request fails, and the owner makes a new one.
Invariants  Requests leave in the order of `submit`. One greenlet reads; senders wait for it.
            A response's memory belongs to it alone: records in it stay valid as long as they are referenced.
Source      NetworkClient, BlockingChannel-like NetworkClientUtils.sendAndReceive in Kafka 3.9.
"""

from __future__ import annotations

import itertools
import logging
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any

import gevent
from gevent import get_hub
from gevent import socket as cooperative
from gevent.lock import Semaphore

from kafka_zk.network.errors import CloseConnection, NetworkError, PeerClosed
from kafka_zk.network.frames import BufferPool, FrameReader
from kafka_zk.network.parking import WRITE, Parking
from kafka_zk.network.peer_login import PeerSession, logged_in
from kafka_zk.network.pending import Pending
from kafka_zk.network.tls_stream import Step, TlsStream
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.header import decode_response_header, encode_request_header, response_header_is_flexible
from kafka_zk.sasl.client.login import FIRST_CORRELATION_ID, Login, LoginFailed, LoginInterrupted
from kafka_zk.supervision import caught

MAX_RESPONSE_BYTES = 2**31 - 1
REQUEST_TIMEOUT_MS = 30_000
CONNECT_TIMEOUT_MS = 30_000
BUFFER_BYTES = 64 * 1024

_APIS = {f"{api.name}Request": api for api in API_TABLE.values()}
_SIZE = Struct(">i")

log = logging.getLogger("org.apache.kafka.common.network.Selector")


@dataclass(frozen=True, slots=True)
class PeerSecurity:
    """How a broker connects to a listener of the others that is not of plain text."""

    tls: ssl.SSLContext | None = None
    """None: the listener does not encrypt."""
    login: Callable[[str, str, Login | None], Login] | None = None
    """Begins a login under a client id at a host, or renews an earlier one; None: the listener asks for none."""


class BrokerChannel:
    """One open connection. Made by `connect`."""

    def __init__(
        self,
        stream: socket.socket | TlsStream,
        address: str,
        client_id: str,
        request_timeout_ms: int,
        session: PeerSession | None = None,
    ) -> None:
        self.address = address
        self._stream = stream
        self._socket = stream.sock if isinstance(stream, TlsStream) else stream
        self._client_id = client_id
        self._request_timeout_ms = request_timeout_ms
        self._correlation_ids = itertools.count()
        self._waiting: dict[int, tuple[Any, int, Pending[Any]]] = {}
        self._sending = Semaphore(1)
        self._parking: Parking | None = None
        self._failure: NetworkError | None = None
        self._session = session
        self._login_answer: Pending[bytes] | None = None
        gevent.spawn_raw(self._read)

    @classmethod
    def connect(
        cls,
        host: str,
        port: int,
        *,
        client_id: str,
        connect_timeout_ms: int = CONNECT_TIMEOUT_MS,
        request_timeout_ms: int = REQUEST_TIMEOUT_MS,
        receive_buffer_bytes: int = -1,
        security: PeerSecurity | None = None,
    ) -> BrokerChannel:
        """Blocks. Returns an open channel. Raises NetworkError, also where the peer cannot prove that it is `host`."""
        address = f"{host}:{port}"
        deadline_s = time.monotonic() + connect_timeout_ms / 1000
        try:
            connected = cooperative.create_connection((host, port), timeout=connect_timeout_ms / 1000)
        except Exception as error:
            # Not only OSErrors: resolving a name takes a thread, and an odd name is a UnicodeError.
            raise NetworkError(f"Connection to {address} failed: {error}") from error
        # Only the descriptor is kept: gevent's socket object has its own way to wait.
        sock = socket.socket(connected.family, connected.type, connected.proto, fileno=connected.detach())
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer_bytes != -1:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        stream: socket.socket | TlsStream = sock
        if security is not None and security.tls is not None:
            stream = _secured(sock, security.tls, host, address, deadline_s)
        session: PeerSession | None = None
        if security is not None and security.login is not None:
            session = logged_in(stream, partial(security.login, client_id, host), address, deadline_s)
        return cls(stream, address, client_id, request_timeout_ms, session)

    @property
    def is_closed(self) -> bool:
        return self._failure is not None

    def send(self, request: Any, api_version: int, *, timeout_ms: int | None = None, body: bytes | None = None) -> Any:
        """Blocks. Returns the decoded response. Raises NetworkError, after which the channel is closed.

        `body`: the bytes of `request` where they are at hand.
        """
        timeout_ms = self._request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            return self.submit(request, api_version, body).result(timeout_ms)
        except TimeoutError as error:
            self._fail(NetworkError(f"{type(request).__name__} to {self.address} timed out after {timeout_ms} ms"))
            raise NetworkError(f"{type(request).__name__} to {self.address}: {error}") from error

    def submit(self, request: Any, api_version: int, body: bytes | None = None) -> Pending[Any]:
        """Blocks only while the socket is full. Returns the pending response, which fails with NetworkError."""
        api = _APIS[type(request).__name__]
        answer: Pending[Any] = Pending()
        with self._sending:
            if self._failure is not None:
                answer.fail(self._failure)
                return answer
            if self._session is not None and self._session.is_due:
                failure = self._renew(self._session)
                if failure is not None:
                    answer.fail(failure)
                    return answer
            correlation_id = next(self._correlation_ids) % FIRST_CORRELATION_ID
            header = encode_request_header(api.key, api_version, correlation_id, self._client_id)
            if body is None:
                body = api.request.encode(request, api_version)
            self._waiting[correlation_id] = (api, api_version, answer)
            self._write(b"".join((_SIZE.pack(len(header) + len(body)), header, body)))
        return answer

    def _renew(self, session: PeerSession) -> NetworkError | None:
        """Blocks. Log in again before the session ends (KIP-368). What is in flight is answered meanwhile; what comes
        next waits. A renewal that fails, or whose greenlet is killed, closes the channel; returns why it is closed."""
        is_renewed = False
        reason = "the renewal of the login was given up"
        try:
            session.renew(self._exchange_login)
            is_renewed = True
        except (LoginFailed, LoginInterrupted, DecodeError, TimeoutError, NetworkError) as error:
            reason = f"failed re-authentication due to: {error}"
            log.info("Connection to %s %s", self.address, reason)
        finally:
            if not is_renewed:
                self._fail(NetworkError(f"Connection to {self.address} {reason}"))
        return self._failure

    def _exchange_login(self, frame: bytes) -> bytes:
        answer = self._login_answer = Pending()
        self._write(frame)
        if self._failure is not None:
            raise self._failure
        return answer.result(self._request_timeout_ms)

    def close(self) -> None:
        """Fail every waiting request with NetworkError. Idempotent."""
        self._fail(NetworkError(f"The connection to {self.address} was closed"))

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left and self._failure is None:
                try:
                    left = left[self._stream.send(left) :]
                except BlockingIOError:
                    self._wait_writable()
        except OSError as error:
            self._fail(NetworkError(f"Connection to {self.address} lost: {error}"))
        finally:
            if left:
                # Also if the sending greenlet is killed: nothing can follow half a frame.
                self._fail(NetworkError(f"A request to {self.address} was sent only in part"))

    def _wait_writable(self) -> None:
        watcher = get_hub().loop.io(self._socket.fileno(), WRITE)
        try:
            get_hub().wait(watcher)
        finally:
            watcher.close()

    def _read(self) -> None:
        """Blocks. The reading greenlet; ends with the connection, whose descriptor it closes."""
        self._parking = parking = Parking(self._socket.fileno())
        reader = FrameReader(BufferPool(BUFFER_BYTES, keep=1), MAX_RESPONSE_BYTES)
        try:
            while self._failure is None:
                reader.rest()
                if parking.wait_readable_or_woken():
                    self._receive(reader)
                    parking.has_buffered = isinstance(self._stream, TlsStream) and self._stream.has_buffered
                while (frame := reader.next_frame()) is not None:
                    self._answered(frame if frame.nbytes > BUFFER_BYTES else memoryview(bytearray(frame)))
        except (PeerClosed, CloseConnection, DecodeError) as error:
            self._fail(NetworkError(f"Connection to {self.address} lost: {error}"))
        except Exception as error:
            # A bug of ours: greenlets that wait for an answer on this connection must not wait for ever.
            caught(f"BrokerChannel {self.address}")
            self._fail(NetworkError(f"Connection to {self.address} given up: {error!r}"))
        finally:
            parking.close()
            # A writer may still wait for this descriptor, and would wait for ever on a closed one.
            with self._sending:
                self._socket.close()

    def _receive(self, reader: FrameReader) -> None:
        try:
            count = self._stream.recv_into(reader.room())
        except BlockingIOError:
            return
        except OSError as error:
            raise PeerClosed(str(error)) from error
        if count == 0:
            raise PeerClosed("the broker closed the connection")
        reader.received(count)

    def _answered(self, frame: memoryview) -> None:
        correlation_id = _SIZE.unpack_from(frame)[0] if len(frame) >= 4 else -1
        if correlation_id >= FIRST_CORRELATION_ID and self._login_answer is not None:
            answer_to_login, self._login_answer = self._login_answer, None
            answer_to_login.complete(bytes(frame))
            return
        waiting = self._waiting.pop(correlation_id, None)
        if waiting is None:
            raise PeerClosed(f"a response with unknown correlation id {correlation_id}")
        api, api_version, answer = waiting
        try:
            flexible = response_header_is_flexible(api.key, api_version)
            _, position = decode_response_header(frame, flexible)
            response = api.response.decode(frame, api_version, position)
        except DecodeError as error:
            answer.fail(NetworkError(f"Undecodable response from {self.address}: {error}"))
            raise
        answer.complete(response)

    def _fail(self, failure: NetworkError) -> None:
        if self._failure is not None:
            return
        self._failure = failure
        waiting = list(self._waiting.values())
        self._waiting.clear()
        if isinstance(self._stream, TlsStream):
            self._stream.say_end()
        # This ends the wait of a writer; it fails if the peer has closed first. An SSLSocket's own method would have
        # later bytes sent as plain text.
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        if self._parking is not None:
            self._parking.end()
        for _, _, answer in waiting:
            answer.fail(failure)
        if self._login_answer is not None:
            self._login_answer.fail(failure)

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"BrokerChannel({self.address} {state} waiting={len(self._waiting)})"


def _secured(sock: socket.socket, context: ssl.SSLContext, host: str, address: str, deadline_s: float) -> TlsStream:
    """Blocks. `sock` after the handshake, or closed and NetworkError."""
    try:
        stream = TlsStream(sock, context, host)
    except OSError as error:
        raise NetworkError(f"Connection to {address} failed: {error}") from error
    try:
        _shake_hands(stream, deadline_s)
    except OSError as error:
        stream.sock.close()
        reason = f"failed authentication due to: SSL handshake failed ({error})"
        raise NetworkError(f"Connection to {address} {reason}") from error
    except BaseException:
        stream.sock.close()
        raise
    return stream


def _shake_hands(stream: TlsStream, deadline_s: float) -> None:
    """Blocks until `deadline_s` (monotonic). Raises OSError."""
    fileno = stream.sock.fileno()
    # A step verifies and signs: some tenths of a millisecond of which the loop is spared.
    while (outcome := stream.step_in(get_hub().threadpool)) is not Step.DONE:
        if isinstance(outcome, OSError):
            raise outcome
        left_s = max(0.0, deadline_s - time.monotonic())
        wait = cooperative.wait_read if outcome is Step.READABLE else cooperative.wait_write
        wait(fileno, left_s, TimeoutError("timed out"))
