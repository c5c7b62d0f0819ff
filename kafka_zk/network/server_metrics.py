"""Metrics of the socket server: queues, connections and bytes per listener, under Kafka's names.

Role        The hot path only adds to plain numbers of its listener; once a second they become rates here.
            Kafka's network threads do not exist: everything is under networkProcessor 0, and how idle they are is
            the unused CPU time of this process.
Source      SocketServer, RequestChannel, Selector.SelectorMetrics in Kafka 3.9; KIP-188, KIP-511.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.windows import RateOfTotal
from kafka_zk.network.request_memory import RequestMemory

if TYPE_CHECKING:
    from kafka_zk.network.listener import Listener
    from kafka_zk.network.quotas import IpConnectionRates
    from kafka_zk.network.request_channel import RequestChannel

UNBOUNDED_POOL = 2**63 - 1

MOST_KINDS = 100
"""Kinds of client software that are shown at a time."""

MAX_KINDS = 100

_GROUP = "kafka.server:type=socket-server-metrics"

Kind = tuple[str, str, str]
"""A listener, and two labels of its clients."""

# Attribute stem, and how to read a listener's total.
_TOTALS: dict[str, Callable[[Listener], int]] = {
    "connection-creation": lambda listener: listener.accepted_count,
    "connection-close": lambda listener: listener.accepted_count - len(listener.connections),
    "incoming-byte": lambda listener: listener.incoming_bytes,
    "outgoing-byte": lambda listener: listener.outgoing_bytes,
    "request": lambda listener: listener.request_count,
    "response": lambda listener: listener.flush_count,
    "successful-authentication": lambda listener: listener.logins.authenticated,
    "failed-authentication": lambda listener: listener.logins.failed,
    "successful-reauthentication": lambda listener: listener.logins.reauthenticated,
    "failed-reauthentication": lambda listener: listener.logins.failed_again,
}


class Shown(Protocol):
    """A SocketServer, as far as metrics need it."""

    ip_rates: IpConnectionRates
    requests: RequestChannel
    memory: RequestMemory | None

    @property
    def killed_sessions_count(self) -> int: ...
    def unanswered_count(self) -> int: ...
    def unsent_bytes(self) -> int: ...


class SocketServerMetrics:
    """Created once the listeners of `server` are open."""

    def __init__(self, server: Shown, listeners: list[Listener], metrics: MetricsRegistry) -> None:
        self._metrics = metrics
        self._idle = IdleMeter()
        self._throttle_times: dict[str, Callable[[float], None]] = {}
        self._ip_throttle_times: dict[str, Callable[[float], None]] = {}
        self._latencies: dict[str, Callable[[float], None]] = {}
        self._shown_ips: set[str] = set()
        self._ip_rates = server.ip_rates
        self._software: set[Kind] = set()
        self._ciphers: set[Kind] = set()
        self._listeners = listeners
        self._accepted_by_gone = 0
        channel = "kafka.network:type=RequestChannel,name="
        metrics.gauge(f"{channel}RequestQueueSize", lambda: server.requests.queue_size)
        metrics.gauge(f"{channel}ResponseQueueSize", server.unanswered_count)
        metrics.gauge(f"{channel}ResponseQueueSize", server.unanswered_count, processor=0)
        metrics.gauge(f"{channel}ResponseQueueBytes", server.unsent_bytes)
        sockets = "kafka.network:type=SocketServer,name="
        metrics.gauge(f"{sockets}ExpiredConnectionsKilledCount", lambda: server.killed_sessions_count)
        metrics.gauge(f"{sockets}NetworkProcessorAvgIdlePercent", self._idle.ratio)
        self._show_memory(server.memory)
        # The one greenlet loop does the work of Kafka's network threads and of its request handlers.
        handlers = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"
        metrics.gauge(handlers, self._idle.ratio)
        metrics.gauge("kafka.network:type=Processor,name=IdlePercent", self._idle.ratio, networkProcessor=0)
        for listener in listeners:
            self._add_listener(listener)
        accepted = RateOfTotal(self._accepted_count, metrics.window())
        metrics.on_fold(accepted.sample)
        metrics.gauge(_GROUP, accepted.rate, attribute="broker-connection-accept-rate")
        metrics.on_fold(self.fold)

    def listener_opened(self, listener: Listener) -> None:
        """Show one more listener."""
        self._listeners.append(listener)
        self._add_listener(listener)

    def listener_closed(self, listener: Listener) -> None:
        """Remove a closed listener."""
        self._listeners.remove(listener)
        self._accepted_by_gone += listener.accepted_count
        self._metrics.remove_tagged(_GROUP, listener=listener.listener_name)

    def _accepted_count(self) -> int:
        return self._accepted_by_gone + sum(listener.accepted_count for listener in self._listeners)

    def fold(self, now_ms: int) -> bool:
        """Once a second: rates, idleness, and new kinds of clients."""
        self._idle.sample()
        self._count_kinds()
        self._record_latencies()
        self._show_ips(now_ms)
        return False

    def _record_latencies(self) -> None:
        for listener in self._listeners:
            latencies, listener.logins.latencies_ms = listener.logins.latencies_ms, []
            for latency_ms in latencies:
                self._latencies[listener.listener_name](latency_ms)

    def throttled(self, listener_name: str, pause_ms: int) -> None:
        """A listener exceeded its connection rate, and pauses."""
        self._throttle_times[listener_name](pause_ms)

    def ip_throttled(self, listener_name: str, delay_ms: int) -> None:
        """A connection is delayed, because its address exceeded its rate."""
        self._ip_throttle_times[listener_name](delay_ms)

    def _show_ips(self, now_ms: int) -> None:
        """One gauge per address with a limit; addresses without a connection for an hour are removed."""
        rates = self._ip_rates.rates(now_ms)
        for host in self._shown_ips - rates.keys():
            self._metrics.remove(_GROUP, ip=host)
        for host, rate in rates.items():
            self._metrics.gauge(_GROUP, partial(float, rate), attribute="connection-accept-rate", ip=host)
        self._shown_ips = set(rates)

    def _show_memory(self, memory: RequestMemory | None) -> None:
        sockets = "kafka.network:type=SocketServer,name="
        self._metrics.gauge(
            f"{sockets}MemoryPoolAvailable", lambda: UNBOUNDED_POOL if memory is None else memory.available_bytes
        )
        self._metrics.gauge(f"{sockets}MemoryPoolUsed", lambda: 0 if memory is None else memory.used_bytes)
        depleted = RateOfTotal(lambda: 0 if memory is None else memory.depleted_ms, self._metrics.window())
        self._metrics.on_fold(depleted.sample)
        # Kafka's rate is in milliseconds per millisecond.
        self._metrics.gauge(_GROUP, lambda: depleted.rate() / 1000, attribute="MemoryPoolAvgDepletedPercent")
        self._metrics.gauge(_GROUP, depleted.total, attribute="MemoryPoolDepletedTimeTotal")

    def _add_listener(self, listener: Listener) -> None:
        of_listener = f"{_GROUP},listener={listener.listener_name}"
        of_processor = f"{of_listener},networkProcessor=0"
        gauge = partial(self._metrics.gauge, of_processor)
        gauge(lambda: len(listener.connections), attribute="connection-count")
        logins = listener.logins
        gauge(lambda: logins.expired, attribute="expired-connections-killed-count")
        gauge(lambda: logins.without_reauthentication, attribute="successful-authentication-no-reauth-total")
        self._latencies[listener.listener_name] = self._metrics.spread_of(
            of_processor, average="reauthentication-latency-avg", maximum="reauthentication-latency-max"
        )
        rates = {
            stem: self._metrics.rate_of(
                of_processor, partial(total, listener), rate=f"{stem}-rate", count=f"{stem}-total"
            )
            for stem, total in _TOTALS.items()
        }
        self._metrics.gauge(of_listener, rates["connection-creation"].rate, attribute="connection-accept-rate")
        self._throttle_times[listener.listener_name] = self._metrics.spread_of(
            of_listener, average="connection-accept-throttle-time"
        )
        self._ip_throttle_times[listener.listener_name] = self._metrics.spread_of(
            of_listener, average="ip-connection-accept-throttle-time"
        )

    def _count_kinds(self) -> None:
        """One gauge per kind of connected client, and per cipher; kinds without connections are removed."""
        software: Counter[Kind] = Counter()
        ciphers: Counter[Kind] = Counter()
        for listener in self._listeners:
            name = listener.listener_name
            for connection in listener.connections:
                software[(name, connection.client_software_name, connection.client_software_version)] += 1
                if connection.cipher is not None:
                    ciphers[(name, *connection.cipher)] += 1
        self._software = self._show_kinds(self._software, software, _software_name)
        self._ciphers = self._show_kinds(self._ciphers, ciphers, _cipher_name)

    def _show_kinds(self, shown: set[Kind], counts: Counter[Kind], name_of: Callable[[Kind], str]) -> set[Kind]:
        """Returns those that are shown now: clients choose the labels, so there are at most MAX_KINDS."""
        for kind in shown - counts.keys():
            self._metrics.remove(name_of(kind))
        kept = shown & counts.keys()
        for kind in [*kept, *(kind for kind in counts if kind not in kept)][:MAX_KINDS]:
            self._metrics.gauge(name_of(kind), partial(int, counts[kind]), attribute="connections")
            kept.add(kind)
        return kept


class IdleMeter:
    """The part of the last second in which this process used no CPU, between 0 and 1."""

    __slots__ = ("_cpu_ns", "_ratio", "_wall_ns")

    def __init__(self) -> None:
        self._cpu_ns = time.thread_time_ns()
        self._wall_ns = time.monotonic_ns()
        self._ratio = 1.0

    def sample(self) -> None:
        cpu_ns, wall_ns = time.thread_time_ns(), time.monotonic_ns()
        if wall_ns > self._wall_ns:
            busy = (cpu_ns - self._cpu_ns) / (wall_ns - self._wall_ns)
            self._ratio = min(1.0, max(0.0, 1.0 - busy))
        self._cpu_ns, self._wall_ns = cpu_ns, wall_ns

    def ratio(self) -> float:
        return self._ratio


def _cipher_name(kind: Kind) -> str:
    listener, cipher, protocol = kind
    return f"{_GROUP},cipher={cipher},listener={listener},networkProcessor=0,protocol={protocol}"


def _software_name(kind: Kind) -> str:
    listener, software, version = kind
    tags = f"clientSoftwareName={software},clientSoftwareVersion={version},listener={listener}"
    return f"{_GROUP},{tags},networkProcessor=0"
