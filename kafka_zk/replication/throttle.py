"""ReplicationQuota: how many bytes a second of throttled replicas this broker sends or fetches (KIP-73).

Role        Counts, and says whether the throttle is exceeded; who reads and who fetches decides what is left out.
Invariants  Asked before records move, told afterwards: one fetch may exceed the rate, and the next ones wait.
            What is counted stays counted when the rate or the throttled replicas change.
Source      Kafka 3.9 ReplicationQuotaManager, ReplicationQuotaManagerConfig, BrokerConfigHandler.processConfigChanges.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.throttled_replicas import ThrottledReplicas
from kafka_zk.config.topic import LogConfig
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.windows import SampledStat

UNLIMITED = 2**63 - 1
FORGET_AFTER_MS = 3600 * 1000
"""A throttle that nobody used for so long is not shown any more."""


class Direction(Enum):
    """The value is Kafka's type of the MBean."""

    LEADER = "LeaderReplication"
    FOLLOWER = "FollowerReplication"


RATE_KEYS = {
    Direction.LEADER: "leader.replication.throttled.rate",
    Direction.FOLLOWER: "follower.replication.throttled.rate",
}
_THROTTLED_IN: dict[Direction, Callable[[LogConfig], ThrottledReplicas]] = {
    Direction.LEADER: lambda config: config.throttled_leaders,
    Direction.FOLLOWER: lambda config: config.throttled_followers,
}


def dynamic_rate(config: BrokerConfig, key: str) -> int:
    """Bytes a second. As in Kafka only a dynamic config counts: this broker's, or else that of all brokers."""
    layers = config.layers
    return int(layers.dynamic_broker.get(key, layers.dynamic_default.get(key, UNLIMITED)))


class ReplicationQuota:
    """The throttle of one direction."""

    def __init__(
        self, direction: Direction, config: BrokerConfig, *, broker_id: int, clock: Clock, metrics: MetricsRegistry
    ) -> None:
        self._config = config
        self._broker_id = broker_id
        self._now_ms = clock.monotonic_ms
        self._key = RATE_KEYS[direction]
        self._throttled_in = _THROTTLED_IN[direction]
        self._name = f"kafka.server:type={direction.value}"
        self._metrics = metrics
        self._last_used_ms: int | None = None
        self._is_shown = False
        self._bytes = self._new_bytes()
        self.bytes_per_second = UNLIMITED
        self.follow_config()
        metrics.on_fold(self._show_while_used)

    def follow_config(self) -> None:
        """The broker's configuration may have changed."""
        self.bytes_per_second = dynamic_rate(self._config, self._key)

    def throttles(self, config: LogConfig, partition: int) -> bool:
        """Whether this broker's replica of that partition is throttled, `config` being its log's."""
        return self._throttled_in(config).has(partition, self._broker_id)

    def is_exceeded(self) -> bool:
        """Whether throttled replicas have to wait."""
        now_ms = self._now_ms()
        if self._last_used_ms is None:
            self._last_used_ms = now_ms
        return self._bytes.simple_rate(now_ms) > self.bytes_per_second

    def record(self, size_bytes: int) -> None:
        """So many bytes went through."""
        now_ms = self._last_used_ms = self._now_ms()
        self._bytes.record(size_bytes, now_ms)

    def byte_rate(self) -> float:
        """Bytes a second over the last windows."""
        return self._bytes.simple_rate(self._now_ms())

    def _new_bytes(self) -> SampledStat:
        return SampledStat(
            num_samples=self._config.replication_quota_window_num,
            window_ms=self._config.replication_quota_window_size_seconds * 1000,
        )

    def _show_while_used(self, now_ms: int) -> bool:
        """Returns False, as a folder that has no more. Kafka has the metric from the first use on, too."""
        if self._last_used_ms is not None and now_ms - self._last_used_ms > FORGET_AFTER_MS:
            self._last_used_ms = None
            self._bytes = self._new_bytes()
        is_used = self._last_used_ms is not None
        if is_used and not self._is_shown:
            self._metrics.gauge(self._name, self.byte_rate, attribute="byte-rate")
        elif self._is_shown and not is_used:
            self._metrics.remove(self._name)
        self._is_shown = is_used
        return False
