"""Gauges of the broker as a whole: state, version, cluster id, disk reads and writes.

Role        Gauges only, evaluated on each scrape.
Source      KafkaServer's metrics, BrokerState, AppInfoParser, LinuxIoMetricsCollector, MetadataLoaderMetrics.
"""

from __future__ import annotations

from enum import IntEnum
from functools import partial
from pathlib import Path

from kafka_zk import KAFKA_VERSION, __version__
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.supervision import unexpected_errors

COMMIT_ID = f"kafka_zk-{__version__}"
"""In place of the build commit of Apache Kafka."""

_SERVER = "kafka.server:type=KafkaServer,name="
_IO = Path("/proc/self/io")


class BrokerState(IntEnum):
    """Kafka's numbers."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class BrokerMetrics:
    """The server sets `state`."""

    def __init__(self, metrics: MetricsRegistry) -> None:
        self.state = BrokerState.NOT_RUNNING
        metrics.gauge(f"{_SERVER}BrokerState", lambda: int(self.state))
        metrics.gauge(f"{_SERVER}yammer-metrics-count", lambda: len(metrics))
        metrics.gauge("kafka.server:type=Supervision,name=UnexpectedErrors", unexpected_errors.total)
        for name, field in (("linux-disk-read-bytes", "read_bytes"), ("linux-disk-write-bytes", "write_bytes")):
            metrics.gauge(f"{_SERVER}{name}", partial(_disk_bytes, field))

    def joined(
        self, metrics: MetricsRegistry, *, broker_id: int, cluster_id: str, started_ms: int, cache: MetadataCache
    ) -> None:
        """Add gauges known only once the broker has its id and its cluster."""
        metrics.gauge(f"{_SERVER}ClusterId", lambda: cluster_id)
        metrics.gauge("kafka.server:type=MetadataLoader,name=CurrentControllerId", lambda: cache.controller_id)
        of_this_broker = partial(metrics.gauge, "kafka.server:type=app-info", id=broker_id)
        of_this_broker(lambda: KAFKA_VERSION, attribute="Version")
        of_this_broker(lambda: COMMIT_ID, attribute="CommitId")
        of_this_broker(lambda: started_ms, attribute="StartTimeMs")
        of_all = partial(metrics.gauge, "kafka.server:type=app-info")
        of_all(lambda: KAFKA_VERSION, attribute="version")
        of_all(lambda: COMMIT_ID, attribute="commit-id")
        of_all(lambda: started_ms, attribute="start-time-ms")


def _disk_bytes(field: str) -> int:
    """The kernel's count for this process; 0 if it may not be read."""
    try:
        lines = _IO.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.removeprefix(f"{field}:")) for line in lines if line.startswith(f"{field}:")), 0)
