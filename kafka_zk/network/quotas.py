"""How many connections there may be: in all, per listener, per address, and how many new ones per second.

Role        Pure: counts and answers. The listener asks before it accepts, tells what it accepted and what has ended.
Invariants  The inter-broker listener, where there is more than one listener, is never kept waiting by max.connections:
            the oldest connection of another listener has to go instead.
Source      ConnectionQuotas in Kafka 3.9 (core/src/main/scala/kafka/network/SocketServer.scala).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping

from kafka_zk.network.errors import CloseConnection

UNLIMITED = 2**31 - 1


class TooManyConnections(CloseConnection):
    """An address already has all the connections it may have."""


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
        """Whether a protected connection took a place above max.connections, so that another one has to go."""
        return self._total > self.max_connections

    def opened(self, listener_name: str, client_host: str) -> None:
        """Count a new connection. Raises TooManyConnections, and counts nothing, if its address has its share."""
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
    """max.connection.creation.rate: new connections per second, over a window of samples of one second.

    The pause after too many is as long as it takes for the average to come back to the limit, at most one sample,
    so that other listeners and the end of the burst are seen in time.
    """

    SAMPLE_MS = 1000

    def __init__(self, *, max_per_second: int = UNLIMITED, sample_count: int = 11) -> None:
        self.max_per_second = max_per_second
        self._sample_count = sample_count
        self._samples: deque[tuple[int, int]] = deque()

    def record(self, now_ms: int) -> int:
        """Count one connection; returns for how many ms no other should be accepted, 0 for none."""
        if self.max_per_second >= UNLIMITED:
            return 0
        second = now_ms // self.SAMPLE_MS
        if self._samples and self._samples[-1][0] == second:
            self._samples[-1] = (second, self._samples[-1][1] + 1)
        else:
            self._samples.append((second, 1))
        while self._samples[0][0] <= second - self._sample_count:
            self._samples.popleft()
        # Kafka's rate counts at least all samples but the current one as elapsed, so the first burst is let through.
        window_ms = (self._sample_count - 1) * self.SAMPLE_MS + now_ms % self.SAMPLE_MS
        allowed = self.max_per_second * window_ms / 1000
        excess = sum(count for _, count in self._samples) - allowed
        if excess <= 0:
            return 0
        if self.max_per_second == 0:
            return self.SAMPLE_MS
        return min(self.SAMPLE_MS, int(excess / self.max_per_second * 1000) + 1)
