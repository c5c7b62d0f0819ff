"""A connection to a broker: sends requests, matches responses by correlation id.

Role        Used by the controller's channels, the node-to-controller channel and the follower fetchers. Knows nothing
            of retries: when it fails once it is closed, every waiting request fails, and the owner makes a new one.
Invariants  Requests leave in the order of `submit`. One greenlet reads; senders wait for it.
            A response's memory belongs to it alone: records in it stay valid as long as they are referenced.
Source      NetworkClient, BlockingChannel-like NetworkClientUtils.sendAndReceive in Kafka 3.9.
"""

from __future__ import annotations

import itertools
import socket
from contextlib import suppress
from struct import Struct
from typing import Any

import gevent
from gevent import get_hub
from gevent import socket as cooperative
from gevent.lock import Semaphore

from kafka_zk.network.errors import CloseConnection, NetworkError, PeerClosed
from kafka_zk.network.frames import BufferPool, FrameReader
from kafka_zk.network.parking import WRITE, Parking
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.header import decode_response_header, encode_request_header, response_header_is_flexible
from kafka_zk.supervision import caught

MAX_RESPONSE_BYTES = 2**31 - 1
MAX_CORRELATION_ID = 2**31 - 1
REQUEST_TIMEOUT_MS = 30_000
CONNECT_TIMEOUT_MS = 30_000
BUFFER_BYTES = 64 * 1024

_APIS = {f"{api.name}Request": api for api in API_TABLE.values()}
_SIZE = Struct(">i")


class BrokerChannel:
    """One open connection. Made by `connect`."""

    def __init__(self, sock: socket.socket, address: str, client_id: str, request_timeout_ms: int) -> None:
        self.address = address
        self._socket = sock
        self._client_id = client_id
        self._request_timeout_ms = request_timeout_ms
        self._correlation_ids = itertools.count()
        self._waiting: dict[int, tuple[Any, int, Pending[Any]]] = {}
        self._sending = Semaphore(1)
        self._parking: Parking | None = None
        self._failure: NetworkError | None = None
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
    ) -> BrokerChannel:
        """Blocks. Returns an open channel. Raises NetworkError."""
        address = f"{host}:{port}"
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
        return cls(sock, address, client_id, request_timeout_ms)

    @property
    def is_closed(self) -> bool:
        return self._failure is not None

    def send(self, request: Any, api_version: int, *, timeout_ms: int | None = None) -> Any:
        """Blocks. Returns the decoded response. Raises NetworkError, after which the channel is closed."""
        timeout_ms = self._request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            return self.submit(request, api_version).result(timeout_ms)
        except TimeoutError as error:
            self._fail(NetworkError(f"{type(request).__name__} to {self.address} timed out after {timeout_ms} ms"))
            raise NetworkError(f"{type(request).__name__} to {self.address}: {error}") from error

    def submit(self, request: Any, api_version: int) -> Pending[Any]:
        """Blocks only while the socket is full. Returns the pending response, which fails with NetworkError."""
        api = _APIS[type(request).__name__]
        answer: Pending[Any] = Pending()
        with self._sending:
            if self._failure is not None:
                answer.fail(self._failure)
                return answer
            correlation_id = next(self._correlation_ids) & MAX_CORRELATION_ID
            header = encode_request_header(api.key, api_version, correlation_id, self._client_id)
            body = api.request.encode(request, api_version)
            self._waiting[correlation_id] = (api, api_version, answer)
            self._write(b"".join((_SIZE.pack(len(header) + len(body)), header, body)))
        return answer

    def close(self) -> None:
        """Fail every waiting request with NetworkError. Idempotent."""
        self._fail(NetworkError(f"The connection to {self.address} was closed"))

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left and self._failure is None:
                try:
                    left = left[self._socket.send(left) :]
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
            count = self._socket.recv_into(reader.room())
        except BlockingIOError:
            return
        except OSError as error:
            raise PeerClosed(str(error)) from error
        if count == 0:
            raise PeerClosed("the broker closed the connection")
        reader.received(count)

    def _answered(self, frame: memoryview) -> None:
        correlation_id = _SIZE.unpack_from(frame)[0] if len(frame) >= 4 else -1
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
        # This ends the wait of a writer; it fails if the peer has closed first.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if self._parking is not None:
            self._parking.end()
        for _, _, answer in waiting:
            answer.fail(failure)

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"BrokerChannel({self.address} {state} waiting={len(self._waiting)})"
