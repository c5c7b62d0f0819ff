"""All listeners of a broker, and what they share: buffers, admission, connection quotas, the idle reaper.

Role        `start` binds every endpoint, so that the real ports are known before the broker registers itself;
            `enable_processing` lets requests in once the packages above are ready; `stop` ends everything.
Invariants  After `stop` has returned no connection and no watcher of this server is left.
Source      SocketServer in Kafka 3.9.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Iterator, Set
from functools import partial
from heapq import nsmallest
from typing import Any

import gevent
from gevent import get_hub
from gevent.event import Event

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.connection import Connection, RequestHandler
from kafka_zk.network.errors import CloseConnection, NetworkError
from kafka_zk.network.frames import BufferPool, FrameReader
from kafka_zk.network.listener import Listener
from kafka_zk.network.listener_tls import ListenerTls, TlsListeners, uses_tls
from kafka_zk.network.parking import LoginTurns, Parking, TurnTable
from kafka_zk.network.quotas import ConnectionQuotas, ConnectionRate, ConnectionRates, IpConnectionRates
from kafka_zk.network.read_watch import ReadWatch
from kafka_zk.network.request_channel import RequestChannel
from kafka_zk.network.request_memory import MeteredHandler, MeteredReader, RequestMemory
from kafka_zk.network.server_metrics import SocketServerMetrics
from kafka_zk.network.settings import SocketServerSettings
from kafka_zk.network.tls_stream import CHUNK_BYTES
from kafka_zk.network.tls_transport import TlsTransport
from kafka_zk.network.transport import PlainTransport, Transport
from kafka_zk.tls.errors import TlsError
from kafka_zk.worker_pool import WorkerPool

READ_POOL_THREADS = 4
HANDSHAKE_THREADS = 2
"""How many steps of TLS handshakes run at once; the others wait for their turn."""

CONTROL_PLANE_QUEUE_SIZE = 20
MAX_REAP_INTERVAL_MS = 1000
MIN_REAP_INTERVAL_MS = 10

log = logging.getLogger("kafka.network.SocketServer")


class SocketServer:
    """The network side of one broker. `read_pool` reads data from disk; without one the server creates its own."""

    def __init__(
        self,
        settings: SocketServerSettings,
        handler: RequestHandler,
        *,
        broker_id: int = -1,
        metrics: MetricsRegistry | None = None,
        read_pool: WorkerPool | None = None,
        tls: TlsListeners | None = None,
    ) -> None:
        self.settings = settings
        self.quotas = ConnectionQuotas(
            max_connections=settings.max_connections,
            max_connections_per_ip=settings.max_connections_per_ip,
            max_connections_per_ip_overrides=settings.max_connections_per_ip_overrides,
            max_connections_per_listener=settings.max_connections_per_listener,
            protected_listener=settings.protected_listener,
        )
        self.rates = _rates(settings)
        self.ip_rates = IpConnectionRates(num_windows=settings.quota_windows, window_ms=settings.quota_window_ms)
        self.requests = RequestChannel(settings.queued_max_requests)
        self.idle_closed_count = 0
        self._killed_by_gone = 0
        limit_bytes = settings.queued_max_request_bytes
        self.memory = RequestMemory(limit_bytes, time.monotonic_ns) if limit_bytes > 0 else None
        """The memory limit of requests; None without a limit."""
        self._metered = None if self.memory is None else MeteredHandler(handler, self.memory)
        self._handler = self._metered or handler
        self._metrics = metrics
        self._shown: SocketServerMetrics | None = None
        self._log_prefix = f"[SocketServer listenerType=ZK_BROKER, nodeId={broker_id}]"
        self._owns_pool = read_pool is None
        # An idle pool is false.
        self._read_pool = WorkerPool(READ_POOL_THREADS) if read_pool is None else read_pool
        self._handshakes = WorkerPool(HANDSHAKE_THREADS)
        self._watch = ReadWatch()
        self._tls_room = memoryview(bytearray(CHUNK_BYTES))
        self._tls = tls
        self._buffers = BufferPool()
        self._turns = TurnTable()
        self._login_turns = LoginTurns()
        self._listeners: dict[str, Listener] = {}
        self._reaper: Any = None
        self._processing = False
        self._stopping = False
        self._all_closed = Event()

    def start(self) -> None:
        """Bind every endpoint. Raises NetworkError, with nothing left open."""
        try:
            for endpoint in self.settings.endpoints:
                listener = self._listener(endpoint)
                listener.open()
                self._listeners[endpoint.listener_name] = listener
                plane = "control" if self._is_control_plane(endpoint) else "data"
                log.info("%s Created %s-plane acceptor for endpoint : %s", self._log_prefix, plane, endpoint)
        except Exception:
            # Even after a bug of ours, no endpoint may stay open.
            self.stop()
            raise
        if self._metrics is not None:
            self._shown = SocketServerMetrics(self, list(self._listeners.values()), self._metrics)

    def enable_processing(self) -> None:
        """Accept connections and serve them."""
        self._processing = True
        for listener in self._listeners.values():
            listener.enable()
        interval_ms = MAX_REAP_INTERVAL_MS
        if self.settings.max_idle_ms >= 0:
            interval_ms = min(interval_ms, max(MIN_REAP_INTERVAL_MS, self.settings.max_idle_ms // 10))
        self._reaper = get_hub().loop.timer(interval_ms / 1000, interval_ms / 1000)
        self._reaper.start(self._reap)
        log.info("%s Enabling request processing.", self._log_prefix)

    def stop(self, timeout_s: float = 5.0) -> None:
        """Blocks. Close all listeners and connections; requests in progress may finish within `timeout_s`."""
        self._stopping = True
        if self._reaper is not None:
            self._reaper.stop()
            self._reaper.close()
            self._reaper = None
        for listener in self._listeners.values():
            listener.close()
        self._wait_until_closed(timeout_s)
        self._turns.close()
        self._login_turns.close()
        if self._owns_pool:
            self._read_pool.kill()
        self._handshakes.kill()
        self._watch.stop()
        log.info("%s Shutdown completed", self._log_prefix)

    def use_endpoints_of(self, settings: SocketServerSettings) -> None:
        """Listen as in `settings`: open new listeners, close removed ones with their connections.

        A listener that keeps its name keeps its address. Raises the first NetworkError once all others are open.
        """
        self.close_all_but(settings)
        wanted = {endpoint.listener_name: endpoint for endpoint in settings.endpoints}
        failures: list[NetworkError] = []
        for name in wanted.keys() - self._listeners.keys():
            listener = self._listener(wanted[name])
            try:
                self._check_tls(wanted[name])
                listener.open()
            except NetworkError as error:
                failures.append(error)
                continue
            self._listeners[name] = listener
            if self._shown is not None:
                self._shown.listener_opened(listener)
            if self._processing:
                listener.enable()
            log.info("%s Created data-plane acceptor for endpoint : %s", self._log_prefix, wanted[name])
        if failures:
            raise failures[0]

    def close_all_but(self, settings: SocketServerSettings) -> None:
        """Close the listeners that `settings` do not name, with their connections."""
        for name in self._listeners.keys() - {endpoint.listener_name for endpoint in settings.endpoints}:
            log.info("%s Removing the listener %s", self._log_prefix, name)
            gone = self._listeners.pop(name)
            gone.close()
            self._killed_by_gone += gone.logins.expired
            if self._shown is not None:
                self._shown.listener_closed(gone)

    def use_limits_of(self, settings: SocketServerSettings) -> None:
        """From now on limit connections and their rate as `settings` say.

        Above a lower max.connections, those idle for longest are closed; limits of listeners and
        addresses apply to new ones only. If there is a second listener, that of the brokers is protected.
        """
        quotas, rates = self.quotas, _rates(settings)
        quotas.protected_listener = self.rates.protected_listener = settings.protected_listener
        quotas.max_connections = settings.max_connections
        quotas.max_connections_per_ip = settings.max_connections_per_ip
        quotas.max_connections_per_ip_overrides = dict(settings.max_connections_per_ip_overrides)
        quotas.max_connections_per_listener = dict(settings.max_connections_per_listener)
        # Existing counts stay.
        self.rates.broker.max_per_second = rates.broker.max_per_second
        for name, rate in rates.listeners.items():
            self.rates.listeners.setdefault(name, rate).max_per_second = rate.max_per_second
        for name in self.rates.listeners.keys() - rates.listeners.keys():
            del self.rates.listeners[name]
        self._end_excess()
        for listener in self._listeners.values():
            listener.accept_if_allowed()

    @property
    def open_listeners(self) -> Set[str]:
        """The names of those that are bound."""
        return self._listeners.keys()

    def bound_port(self, listener_name: str) -> int:
        """The port that a listener really has; raises KeyError for an unknown listener."""
        return self._listeners[listener_name].port

    def connections(self) -> Iterator[Connection]:
        """Every open connection, in no particular order."""
        for listener in self._listeners.values():
            yield from list(listener.connections)

    @property
    def killed_sessions_count(self) -> int:
        """Connections closed because their client's session had ended (KIP-368)."""
        return self._killed_by_gone + sum(listener.logins.expired for listener in self._listeners.values())

    @property
    def connection_count(self) -> int:
        return self.quotas.total_count

    def unanswered_count(self) -> int:
        """Requests whose answers are not sent yet."""
        return sum(connection.unanswered_count for connection in self.connections())

    def unsent_bytes(self) -> int:
        """Bytes of ready answers not sent yet, without slices of segments."""
        return sum(connection.unsent_bytes for connection in self.connections())

    def _listener(self, endpoint: EndPoint) -> Listener:
        # The controller's requests must not queue behind those of clients: its own plane has places of its own.
        requests = RequestChannel(CONTROL_PLANE_QUEUE_SIZE) if self._is_control_plane(endpoint) else self.requests
        return Listener(
            endpoint,
            self.settings,
            handler=self._handler,
            turns=self._turns,
            login_turns=self._login_turns,
            requests=requests,
            quotas=self.quotas,
            rates=self.rates,
            ip_rates=self.ip_rates,
            on_throttled=self._throttled,
            on_ip_throttled=self._ip_throttled,
            reader_for=self._frame_reader if self.memory is None else self._metered_reader,
            transport_for=self._transports_of(endpoint),
            on_slot_free=self._slot_free,
            on_excess=self._end_excess,
            log_prefix=self._log_prefix,
        )

    def _is_control_plane(self, endpoint: EndPoint) -> bool:
        return endpoint.listener_name == self.settings.control_plane_listener

    def _frame_reader(self, parking: Parking) -> FrameReader:
        return FrameReader(self._buffers, self.settings.max_request_bytes)

    def _metered_reader(self, parking: Parking) -> MeteredReader:
        assert self.memory is not None
        return MeteredReader(self._frame_reader(parking), self.memory, parking)

    def _transports_of(self, endpoint: EndPoint) -> Callable[[socket.socket, Parking], Transport]:
        return (
            partial(self._tls_transport, endpoint.listener_name)
            if uses_tls(endpoint.security_protocol)
            else (self._plain_transport)
        )

    def _plain_transport(self, sock: socket.socket, parking: Parking) -> Transport:
        return PlainTransport(sock, parking, self._read_pool)

    def _tls_transport(self, listener_name: str, sock: socket.socket, parking: Parking) -> Transport:
        # Asked for each connection: a reload replaces it.
        try:
            security = self._tls_of(listener_name)
        except TlsError as error:
            # The listener is being closed, and its stores are forgotten.
            raise CloseConnection(f"The listener {listener_name} cannot be used: {error}") from error
        self._watch.start()
        return TlsTransport(
            sock,
            parking,
            pool=self._read_pool,
            handshakes=self._handshakes,
            watch=self._watch,
            security=security,
            room=self._tls_room,
        )

    def _check_tls(self, endpoint: EndPoint) -> None:
        """May block on the disk. Raises NetworkError for a listener whose stores cannot be read."""
        if not uses_tls(endpoint.security_protocol):
            return
        try:
            self._tls_of(endpoint.listener_name)
        except TlsError as error:
            raise NetworkError(f"The listener {endpoint.listener_name} cannot be opened: {error}") from error

    def _tls_of(self, listener_name: str) -> ListenerTls:
        assert self._tls is not None, "a listener of SSL without TLS"
        return self._tls.of(listener_name)

    def _throttled(self, listener_name: str, pause_ms: int) -> None:
        if self._shown is not None:
            self._shown.throttled(listener_name, pause_ms)

    def _ip_throttled(self, listener_name: str, delay_ms: int) -> None:
        if self._shown is not None:
            self._shown.ip_throttled(listener_name, delay_ms)

    def _slot_free(self) -> None:
        """A connection ended."""
        if self._stopping:
            if not self.connection_count:
                self._all_closed.set()
            return
        for listener in self._listeners.values():
            listener.accept_if_allowed()

    def _end_excess(self) -> None:
        """If too many connections are open, close those idle for longest, but not the brokers'."""
        live = [connection for connection in self.connections() if not connection.is_closing]
        excess_count = len(live) - self.quotas.max_connections
        if excess_count > 0:
            bound = [each for each in live if each.listener_name != self.quotas.protected_listener]
            for connection in nsmallest(excess_count, bound, key=lambda each: each.active_ns):
                connection.close()

    def _reap(self) -> None:
        deadline_ns = time.monotonic_ns() - self.settings.max_idle_ms * 1_000_000
        for listener in self._listeners.values():
            if self.settings.max_idle_ms >= 0:
                self.idle_closed_count += listener.close_idle(deadline_ns)
            listener.look_for_ends()
        if self._metered is not None:
            self._metered.end_stalled(time.monotonic_ns())

    def _wait_until_closed(self, timeout_s: float) -> None:
        if self.connection_count:
            self._all_closed.wait(timeout_s)
        stuck = [greenlet for listener in self._listeners.values() for greenlet in listener.connections.values()]
        if stuck:
            log.warning("%s %d connections did not close in time", self._log_prefix, len(stuck))
            for greenlet in stuck:
                get_hub().loop.run_callback(greenlet.throw, gevent.GreenletExit)
            gevent.sleep(0)


def _rates(settings: SocketServerSettings) -> ConnectionRates:
    def rate(max_per_second: int) -> ConnectionRate:
        return ConnectionRate(
            max_per_second=max_per_second, num_windows=settings.quota_windows, window_ms=settings.quota_window_ms
        )

    own = {name: rate(limit) for name, limit in settings.max_connection_creation_rate_per_listener.items()}
    return ConnectionRates(
        rate(settings.max_connection_creation_rate), own, protected_listener=settings.protected_listener
    )
