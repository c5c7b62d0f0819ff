"""One listening socket: accepts connections within the quotas and spawns a greenlet for each.

Role        Accepting runs in the hub: it never blocks. Without a free place, or above the rate of new connections, the
            listener stops polling its socket, and later ones wait in the kernel's backlog.
Invariants  Every accepted socket is counted in the quotas until its connection has ended, and ends exactly once.
Source      Acceptor and Processor.configureNewConnections in Kafka 3.9 (SocketServer.scala).
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

import gevent
from gevent import get_hub
from gevent import socket as cooperative
from greenlet import greenlet

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.network.addresses import as_java_prints
from kafka_zk.network.connection import Connection, RequestHandler
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.frames import FrameSource
from kafka_zk.network.logins import LoginCounts
from kafka_zk.network.parking import READ, LoginTurns, Parking, TurnTable
from kafka_zk.network.quotas import ConnectionQuotas, ConnectionRates, IpConnectionRates, TooManyConnections
from kafka_zk.network.request_channel import RequestChannel
from kafka_zk.network.settings import SocketServerSettings
from kafka_zk.network.transport import Transport

MAX_PORT = 2**16 - 1
ACCEPTS_PER_TURN = 8
"""Half a millisecond. The others wait in the backlog until every socket that is ready was served."""

ACCEPT_PAUSE_S = 1.0
"""How long to leave the backlog alone when the process has no file descriptor left."""

COMPLAINT_INTERVAL_S = 60.0

OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

log = logging.getLogger("kafka.network.SocketServer")


class Listener:
    """An endpoint of the broker. `open` binds, `enable` starts to accept, `close` closes it and its connections."""

    def __init__(
        self,
        endpoint: EndPoint,
        settings: SocketServerSettings,
        *,
        handler: RequestHandler,
        turns: TurnTable,
        login_turns: LoginTurns,
        requests: RequestChannel,
        quotas: ConnectionQuotas,
        rates: ConnectionRates,
        ip_rates: IpConnectionRates,
        on_throttled: Callable[[str, int], None],
        on_ip_throttled: Callable[[str, int], None],
        reader_for: Callable[[Parking], FrameSource],
        transport_for: Callable[[socket.socket, Parking], Transport],
        on_slot_free: Callable[[], None],
        on_excess: Callable[[], None],
        log_prefix: str,
    ) -> None:
        self.endpoint = endpoint
        self.listener_name = endpoint.listener_name
        self.security_protocol = endpoint.security_protocol
        self.handler = handler
        self.turns = turns
        self.login_turns = login_turns
        self.requests = requests
        self.reader_for = reader_for
        self.transport_for = transport_for
        self.log_prefix = log_prefix
        self.turn_bytes = settings.turn_bytes
        self.unsent_limit = settings.unsent_bytes
        self.max_request_bytes = settings.max_request_bytes
        self.max_login_bytes = settings.max_login_bytes
        self.failed_login_delay_ms = settings.failed_login_delay_ms
        self.logins = LoginCounts()
        self.connections: dict[Connection, greenlet] = {}
        # Plain totals; server_metrics computes rates from them.
        self.accepted_count = self.request_count = self.flush_count = 0
        self.incoming_bytes = self.outgoing_bytes = 0
        self._settings = settings
        self._quotas = quotas
        self._rates = rates
        self._ip_rates = ip_rates
        self._on_throttled = on_throttled
        self._on_ip_throttled = on_ip_throttled
        self._refused: dict[socket.socket, Any] = {}
        self._on_slot_free = on_slot_free
        self._on_excess = on_excess
        self._socket: socket.socket | None = None
        self._watcher: Any = None
        self._pause: Any = None
        self._late: tuple[socket.socket, tuple[Any, ...]] | None = None
        self._enabled = False
        self._complains_from_s = 0.0

    def open(self) -> None:
        """Blocks for a host name. Bind and listen; clients may connect from now on, and wait for `enable`.

        Raises NetworkError.
        """
        host, port = self.endpoint.host, self.endpoint.port
        failed = f"Socket server failed to bind to {host or '0.0.0.0'}:{port}"
        if not 0 <= port <= MAX_PORT:
            # The resolver would truncate it to 16 bits.
            raise NetworkError(f"{failed}: port out of range.")
        try:
            self._socket = _listening_socket(host, port, self._settings)
        except OSError as error:
            raise NetworkError(f"{failed}: {error.strerror}.") from error
        except UnicodeError as error:
            raise NetworkError(f"{failed}: {error}.") from error
        self._watcher = get_hub().loop.io(self._socket.fileno(), READ)
        shown_host = f"[{host}]" if ":" in host else host or "0.0.0.0"
        log.info("Awaiting socket connections on %s:%d.", shown_host, self.port)

    @property
    def port(self) -> int:
        assert self._socket is not None, "not open"
        return int(self._socket.getsockname()[1])

    def enable(self) -> None:
        """Serve the waiting clients, and all later ones."""
        self._enabled = True
        self.accept_if_allowed()

    def accept_if_allowed(self) -> None:
        """Resume accepting, after a slot became free or a pause has ended."""
        if not self._may_accept():
            return
        late, self._late = self._late, None
        if late is not None:
            self._serve(*late)
        if self._may_accept():
            self._watcher.start(self._accept_ready)

    def _may_accept(self) -> bool:
        return self._enabled and self._pause is None and self._quotas.has_slot(self.listener_name)

    def close(self) -> None:
        """Stop listening and ask every connection to end; does not wait for them."""
        self._enabled = False
        self._end_pause()
        if self._late is not None:
            self._late[0].close()
            self._late = None
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher.close()
            self._watcher = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        for connection in list(self.connections):
            connection.close()
        for sock in list(self._refused):
            self._close_refused(sock)

    def connection_closed(self, connection: Connection) -> None:
        """Each connection calls it last."""
        del self.connections[connection]
        self._quotas.closed(self.listener_name, connection.client_host)
        self._on_slot_free()

    def close_idle(self, deadline_ns: int) -> int:
        """Close the connections without activity since `deadline_ns`; returns how many."""
        idle = [
            connection
            for connection in self.connections
            if connection.last_active_ns < deadline_ns
            and connection.active_ns < deadline_ns
            and not connection.is_closing
        ]
        for connection in idle:
            log.debug("%s About to close the idle connection from %s", self.log_prefix, connection.connection_id)
            connection.close()
        return len(idle)

    def look_for_ends(self) -> None:
        """Make each connection check whether its client is still connected."""
        for connection in list(self.connections):
            connection.look_for_end()

    def _accept_ready(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            if self._socket is None:
                return
            if not self._quotas.has_slot(self.listener_name):
                self._watcher.stop()
                self._complain(
                    f"Connection limit reached ({self._quotas.total_count}); new clients wait in the backlog"
                )
                return
            try:
                sock, address = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                # The client has disconnected already. Other errors would recur immediately.
                if error.errno in OUT_OF_FILES:
                    self._complain(f"Error while accepting connection: {error}")
                    self._pause_for(ACCEPT_PAUSE_S)
                    return
                continue
            throttle_ms = self._rates.record(self.listener_name, time.monotonic_ns() // 1_000_000)
            if throttle_ms:
                # The connection over the limit waits with those behind it.
                self._late = (sock, address)
                self._on_throttled(self.listener_name, throttle_ms)
                self._pause_for(throttle_ms / 1000)
                return
            self._serve(sock, address)

    def _complain(self, text: str) -> None:
        """Log why clients wait; a lasting reason once a minute."""
        now_s = time.monotonic()
        if now_s >= self._complains_from_s:
            self._complains_from_s = now_s + COMPLAINT_INTERVAL_S
            log.error("%s %s", self.log_prefix, text)

    def _serve(self, sock: socket.socket, address: tuple[Any, ...]) -> None:
        client_host, client_port = str(address[0]), int(address[1])
        if ":" in client_host:
            client_host = as_java_prints(client_host)
        if self._ip_rates.is_limited:
            delay_ms = self._ip_rates.record(client_host, time.monotonic_ns() // 1_000_000)
            if delay_ms:
                self._refuse_later(sock, client_host, delay_ms)
                return
        try:
            self._quotas.opened(self.listener_name, client_host)
        except TooManyConnections as refused:
            log.info("%s %s", self.log_prefix, refused)
            sock.close()
            return
        try:
            _prepare(sock, self._settings)
        except OSError as error:
            log.debug("%s Connection with /%s disconnected: %s", self.log_prefix, client_host, error)
            self._quotas.closed(self.listener_name, client_host)
            sock.close()
            return
        connection = Connection(sock, client_host, client_port, self, self.accepted_count)
        self.accepted_count += 1
        self.connections[connection] = gevent.spawn_raw(connection.run)
        if self._quotas.is_over():
            self._on_excess()

    def _refuse_later(self, sock: socket.socket, client_host: str, delay_ms: int) -> None:
        """Hold the connection of an address over its rate for a while, then close it."""
        log.debug("%s Delaying closing of connection from /%s for %d ms", self.log_prefix, client_host, delay_ms)
        self._on_ip_throttled(self.listener_name, delay_ms)
        timer = self._refused[sock] = get_hub().loop.timer(delay_ms / 1000)
        timer.start(self._close_refused, sock)

    def _close_refused(self, sock: socket.socket) -> None:
        timer = self._refused.pop(sock)
        timer.stop()
        timer.close()
        sock.close()

    def _pause_for(self, delay_s: float) -> None:
        self._watcher.stop()
        self._pause = get_hub().loop.timer(delay_s)
        self._pause.start(self._resume)

    def _resume(self) -> None:
        self._end_pause()
        self.accept_if_allowed()

    def _end_pause(self) -> None:
        if self._pause is not None:
            self._pause.stop()
            self._pause.close()
            self._pause = None

    def __repr__(self) -> str:
        return f"{self.listener_name} {self.endpoint.host}:{self.endpoint.port} connections={len(self.connections)}"


def _prepare(sock: socket.socket, settings: SocketServerSettings) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if settings.send_buffer_bytes != -1:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings.send_buffer_bytes)


def _listening_socket(host: str | None, port: int, settings: SocketServerSettings) -> socket.socket:
    """A bound, listening socket; an empty host is every interface, of both families if there is IPv6."""
    failure: OSError | None = None
    for family, address in _addresses(host, port):
        try:
            return _bound(family, address, settings)
        except OSError as error:
            failure = error
    raise failure or OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))


def _addresses(host: str | None, port: int) -> Iterable[tuple[int, tuple[Any, ...]]]:
    if not host:
        return [(socket.AF_INET6, ("::", port)), (socket.AF_INET, ("0.0.0.0", port))]
    # A listener may be added while others are served: a slow name lookup must not block them.
    found = cooperative.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return [(family, address) for family, _, _, _, address in found]


def _bound(family: int, address: tuple[Any, ...], settings: SocketServerSettings) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and address[0] == "::":
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if settings.receive_buffer_bytes != -1:
            # Accepted sockets inherit it; later, the window scale would be fixed already.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.receive_buffer_bytes)
        sock.bind(address)
        sock.listen(settings.backlog_size)
    except OSError:
        sock.close()
        raise
    return sock
