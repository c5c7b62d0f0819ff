"""kazoo's connection with pipelining: many requests per write, many responses per read.

Role        Acts. kazoo sends and reads one message at a time, and polls the socket for each: a controller that fails
            over with thousands of partitions spends most of its time there. And it keeps a silent server as long as
            requests are sent to it.
Invariants  Requests leave in the order they were queued, responses are taken in the order they came. Everything but
            plain requests (kazoo's test hooks, the end of the session) and the handshake are kazoo's own.
            Nothing is sent, and nobody told of a connection, before its login is accepted.
            A silent server is given up, by the rules of `silence`, and tried again only after all others.
Source      kazoo 2.11 (pinned): protocol.connection.ConnectionHandler.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from typing import Any

import gevent
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionDropped
from kazoo.protocol.connection import int_struct
from kazoo.protocol.serialization import Auth, Close

from kafka_zk.sasl.client.exchange import ExchangeFailed
from kafka_zk.zk.identity import SaslIdentity
from kafka_zk.zk.kazoo_login import LoggedInConnection, with_connection
from kafka_zk.zk.silence import Silence

REQUESTS_PER_WRITE = 64
"""Few enough for the responses to be taken up meanwhile."""

READ_AHEAD_BYTES = 64 * 1024
LENGTH_BYTES = 4


def pipeline(
    client: KazooClient, login: SaslIdentity | None = None, on_refused: Callable[[str], None] | None = None
) -> KazooClient:
    """`client`, which is not connected yet, with a connection of this kind."""
    return with_connection(client, PipeliningConnection, login, on_refused)


class PipeliningConnection(LoggedInConnection):
    def __init__(self, client: KazooClient, retry_sleeper: Any, logger: Any, sasl_options: Any) -> None:
        super().__init__(client, retry_sleeper, logger, sasl_options)
        self._xid = 0
        self._ahead = bytearray()
        self._may_read_ahead = False
        self._tried_last: Any = None
        self._silence = Silence(0, 0)

    def _expand_client_hosts(self) -> list[Any]:
        """Blocks. kazoo asks the resolver in the loop: one that does not answer would stop all greenlets."""
        try:
            servers: list[Any] = gevent.get_hub().threadpool.apply(super()._expand_client_hosts)
        except Exception as error:
            # For one, that no thread can be started. It would end kazoo's loop, and with it a live session; as
            # where no name resolves, kazoo tries again.
            self.logger.warning("Cannot resolve the servers of ZooKeeper: %r", error)
            return []
        return sorted(servers, key=lambda server: server == self._tried_last)

    def _connect(self, host: Any, hostip: Any, port: Any) -> Any:
        self._tried_last = host, hostip, port
        self._ahead.clear()
        self._may_read_ahead = False
        read_timeout_ms, connect_timeout_ms = super()._connect(host, hostip, port)
        self._may_read_ahead = True
        session_s = read_timeout_ms / 1000 * 3 / 2
        self._silence = Silence(session_s, time.monotonic())
        # kazoo pings when nothing was sent for half of its read timeout.
        return 2 * self._silence.turn_s * 1000, connect_timeout_ms

    def _step(self, step: Callable[..., bytes | None], *challenge: bytes) -> bytes | None:
        """Blocks for a thread: a KDC that does not answer would stop all greenlets."""
        outcome = gevent.get_hub().threadpool.apply(_outcome, (step, challenge))
        if isinstance(outcome, ExchangeFailed):
            raise outcome
        return outcome

    def _send_ping(self, connect_timeout: float) -> None:
        self._give_up_if_silent()
        super()._send_ping(connect_timeout)
        # kazoo would give up at the next one.
        self.ping_outstanding.clear()

    def _give_up_if_silent(self) -> None:
        # What came while this process did not run is read before the time is judged.
        if self._silence.is_too_long(time.monotonic()) and not self.handler.select([self._socket], [], [], 0)[0]:
            raise ConnectionDropped(f"no message from the server for {self._silence.limit_s:.1f} s")

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        self._give_up_if_silent()
        queue, frames, count = self.client._queue, bytearray(), 0
        while queue and count < REQUESTS_PER_WRITE and _is_plain(queue[0][0]):
            request, answer = queue.popleft()
            self._xid = (self._xid % 2147483647) + 1
            body = request.serialize()
            frames += int_struct.pack(2 * LENGTH_BYTES + len(body))
            frames += int_struct.pack(self._xid)
            frames += int_struct.pack(request.type)
            frames += body
            # Before the write: whatever becomes of it, the request is answered with those that are on their way.
            self.client._pending.append((request, answer, self._xid))
            count += 1
        if not count:
            super()._send_request(read_timeout, connect_timeout)
            return
        # A byte a request woke us.
        self._read_sock.recv(count)
        self._write(bytes(frames), connect_timeout)

    def _read_socket(self, read_timeout: float) -> Any:
        response = super()._read_socket(self._silence.limit_s)
        while response is None and self._has_whole_response():
            response = super()._read_socket(self._silence.limit_s)
        self._silence.is_broken(time.monotonic())
        return response

    def _has_whole_response(self) -> bool:
        ahead = self._ahead
        return len(ahead) >= LENGTH_BYTES and len(ahead) - LENGTH_BYTES >= int_struct.unpack_from(ahead)[0]

    def _read(self, length: int, timeout: float) -> bytes:
        if not self._may_read_ahead:
            whole: bytes = super()._read(length, timeout)
            return whole
        ahead = self._ahead
        with self._socket_error_handling():
            while len(ahead) < length:
                if not self.handler.select([self._socket], [], [], timeout)[0]:
                    raise self.handler.timeout_exception("socket time-out during read")
                try:
                    chunk = self._socket.recv(READ_AHEAD_BYTES)
                except ssl.SSLWantReadError:
                    continue
                if not chunk:
                    raise ConnectionDropped("socket connection broken")
                ahead += chunk
        taken = bytes(memoryview(ahead)[:length])
        del ahead[:length]
        return taken


def _outcome(step: Callable[..., bytes | None], challenge: tuple[bytes, ...]) -> bytes | ExchangeFailed | None:
    """Errors are returned: the hub would print what a thread raises."""
    try:
        return step(*challenge)
    except ExchangeFailed as error:
        return error


def _is_plain(request: Any) -> bool:
    return getattr(request, "type", None) not in (None, Auth.type, Close.type)
