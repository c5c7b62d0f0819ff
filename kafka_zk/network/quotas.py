"""Connection quotas: in all, per listener, per address, and new ones per second.

Role        Pure: counts. The listener asks before it accepts, and reports opened and closed connections.
Invariants  The inter-broker listener, where there is more than one listener, is never blocked by max.connections:
            instead, the oldest connection of another listener is closed.
Source      ConnectionQuotas in Kafka 3.9 (core/src/main/scala/kafka/network/SocketServer.scala); QuotaUtils.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kafka_zk.metrics.windows import SampledStat
from kafka_zk.network.errors import CloseConnection

UNLIMITED = 2**31 - 1
FORGET_AFTER_MS = 3600 * 1000
SWEEP_INTERVAL_MS = 60 * 1000


class TooManyConnections(CloseConnection):
    """An address has reached its connection limit."""


class ConnectionQuotas:
    """Counts of open connections against their limits. The limits may change while the broker runs."""

    def __init__(
        self,
        *,
        max_connections: int = UNLIMITED,
        max_connections_per_ip: int = UNLIMITED,
        max_connections_per_ip_overrides: Mapping[str, int] | None = None,
        max_connections_per_listener: Mapping[str, int] | None = None,
        protected_listener: str | None = None,
    ) -> None:
        self.max_connections = max_connections
        self.max_connections_per_ip = max_connections_per_ip
        self.max_connections_per_ip_overrides = dict(max_connections_per_ip_overrides or {})
        self.max_connections_per_listener = dict(max_connections_per_listener or {})
        self.protected_listener = protected_listener
        self._per_ip: Counter[str] = Counter()
        self._per_listener: Counter[str] = Counter()
        self._total = 0

    @property
    def total_count(self) -> int:
        return self._total

    def has_slot(self, listener_name: str) -> bool:
        """Whether this listener may accept now; otherwise new connections wait in the backlog."""
        limit = self.max_connections_per_listener.get(listener_name, UNLIMITED)
        if self._per_listener[listener_name] >= limit:
            return False
        return listener_name == self.protected_listener or self._total < self.max_connections

    def is_over(self) -> bool:
        """Whether a protected connection exceeded max.connections, so that another one must be closed."""
        return self._total > self.max_connections

    def opened(self, listener_name: str, client_host: str) -> None:
        """Count a new connection. Raises TooManyConnections, and counts nothing, if its address is at its limit."""
        limit = self.max_connections_per_ip_overrides.get(client_host, self.max_connections_per_ip)
        if self._per_ip[client_host] >= limit:
            raise TooManyConnections(
                f"Rejected connection from /{client_host}, address already has the configured maximum of "
                f"{limit} connections."
            )
        self._per_ip[client_host] += 1
        self._per_listener[listener_name] += 1
        self._total += 1

    def closed(self, listener_name: str, client_host: str) -> None:
        """A counted connection has ended."""
        self._total -= 1
        self._per_listener[listener_name] -= 1
        self._per_ip[client_host] -= 1
        if not self._per_ip[client_host]:
            del self._per_ip[client_host]


class ConnectionRate:
    """max.connection.creation.rate: new connections per second, over the windows of the quotas.

    After too many, the pause lasts until the average is back at the limit, at most one window, so
    that the end of a burst is noticed in time.
    """

    def __init__(self, *, max_per_second: int = UNLIMITED, num_windows: int = 11, window_ms: int = 1000) -> None:
        self.max_per_second = max_per_second
        self._window_ms = window_ms
        self._opened = SampledStat(num_samples=num_windows, window_ms=window_ms)
        self.last_recorded_ms = 0

    def record(self, now_ms: int) -> int:
        """Count one connection; returns for how many ms to accept no other, 0 for none."""
        limit = self.max_per_second
        if limit >= UNLIMITED:
            return 0
        self.last_recorded_ms = now_ms
        self._opened.record(1, now_ms)
        rate = self._opened.rate(now_ms)
        if rate <= limit:
            return 0
        if limit == 0:
            return self._window_ms
        return min(self._window_ms, round((rate - limit) / limit * self._opened.span_ms(now_ms)))

    def take_back(self, now_ms: int) -> None:
        """Uncount a connection that is not served."""
        self._opened.record(-1, now_ms)

    def rate(self, now_ms: int) -> float:
        """Connections a second."""
        return self._opened.rate(now_ms)


class ConnectionRates:
    """The rate of the whole broker and those of listeners. The protected listener counts only for its own."""

    def __init__(
        self,
        broker: ConnectionRate,
        listeners: Mapping[str, ConnectionRate] | None = None,
        *,
        protected_listener: str | None = None,
    ) -> None:
        self.broker = broker
        self.listeners = dict(listeners or {})
        self.protected_listener = protected_listener

    def record(self, listener_name: str, now_ms: int) -> int:
        """Count one connection; returns for how many ms this listener must accept no other, 0 for none."""
        pause_ms = 0 if listener_name == self.protected_listener else self.broker.record(now_ms)
        own = self.listeners.get(listener_name)
        return pause_ms if own is None else max(pause_ms, own.record(now_ms))


class IpConnectionRates:
    """connection_creation_rate: new connections per second of each address, by a limit of its own or the default one.

    Unlike other rates, a connection over the limit does not wait: it is accepted, never served, and closed
    after the pause, so that others of the same listener do not wait for it.
    """

    def __init__(self, *, num_windows: int = 11, window_ms: int = 1000) -> None:
        self._num_windows = num_windows
        self._window_ms = window_ms
        self._default = UNLIMITED
        self._own: dict[str, int] = {}
        self._rates: dict[str, ConnectionRate] = {}
        self._next_sweep_ms = 0
        self.is_limited = False

    def limit(self, client_host: str | None, max_per_second: int | None) -> None:
        """Set the limit of an address (None: the default), or remove it (None)."""
        if client_host is None:
            self._default = UNLIMITED if max_per_second is None else max_per_second
        elif max_per_second is None:
            self._own.pop(client_host, None)
        else:
            self._own[client_host] = max_per_second
        self.is_limited = bool(self._own) or self._default != UNLIMITED
        for host, rate in self._rates.items():
            rate.max_per_second = self._limit_of(host)

    def record(self, client_host: str, now_ms: int) -> int:
        """Count one connection; 0 if it may be served. Else does not count it; returns ms until its close."""
        if self._limit_of(client_host) == UNLIMITED:
            return 0
        if now_ms >= self._next_sweep_ms:
            self._forget_unused(now_ms)
        rate = self._rates.get(client_host)
        if rate is None:
            rate = self._rates[client_host] = ConnectionRate(
                max_per_second=self._limit_of(client_host), num_windows=self._num_windows, window_ms=self._window_ms
            )
        delay_ms = rate.record(now_ms)
        if delay_ms:
            rate.take_back(now_ms)
        return delay_ms

    def rates(self, now_ms: int) -> dict[str, float]:
        """Connections a second by address, of those that are limited and came within the hour."""
        return {host: rate.rate(now_ms) for host, rate in self._rates.items()}

    def _limit_of(self, client_host: str) -> int:
        return self._own.get(client_host, self._default)

    def _forget_unused(self, now_ms: int) -> None:
        self._next_sweep_ms = now_ms + SWEEP_INTERVAL_MS
        oldest_ms = now_ms - FORGET_AFTER_MS
        self._rates = {host: rate for host, rate in self._rates.items() if rate.last_recorded_ms >= oldest_ms}
