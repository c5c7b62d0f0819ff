"""Metrics of a ZooKeeper session: state, state changes, request latency.

Role        Joins a `ZkClient` and a registry; called before the client starts, so that the first connection counts.
Source      kafka.zookeeper.ZooKeeperClient and KafkaZkClient: SessionExpireListener, ZooKeeperClientMetrics.
"""

from __future__ import annotations

from kafka_zk.clock import Clock
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.zk.session import ZkClient

SESSION = "kafka.server:type=SessionExpireListener,name="
LATENCY = "kafka.server:type=ZooKeeperClientMetrics,name=ZooKeeperRequestLatencyMs"
EVENTS = ("Disconnects", "SyncConnects", "AuthFailures", "ReadOnlyConnects", "SaslAuthentications", "Expires")
EVENT_OF_STATE = {"CONNECTED": "SyncConnects", "DISCONNECTED": "Disconnects", "EXPIRED": "Expires"}


def measure(zk: ZkClient, metrics: MetricsRegistry, clock: Clock) -> None:
    """Register the session's metrics and keep them."""
    metrics.gauge(f"{SESSION}SessionState", lambda: zk.state)
    meters = {event: metrics.meter(f"{SESSION}ZooKeeper{event}PerSec", event_type=event.lower()) for event in EVENTS}
    zk.on_state_change(lambda state: meters[EVENT_OF_STATE[state]].mark(1))
    zk.time_requests(clock.monotonic_ms, metrics.histogram(LATENCY).update)
