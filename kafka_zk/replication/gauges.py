"""What monitoring sees of the replicas.

Role        Registers the gauges once; each counts when somebody looks.
Source      Kafka 3.9 ReplicaManager (metrics of kafka.server:type=ReplicaManager), DelayedOperationPurgatory,
            FetchSessionCache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_zk.metrics import MetricsRegistry
from kafka_zk.replication.purgatory import Purgatory

if TYPE_CHECKING:
    from kafka_zk.replication.manager import ReplicaManager
    from kafka_zk.replication.partition import Partition

_REPLICAS = "kafka.server:type=ReplicaManager,name="
_SESSIONS = "kafka.server:type=FetchSessionCache,name="


def register_gauges(metrics: MetricsRegistry, manager: ReplicaManager) -> None:
    """Show `manager` under Kafka's names."""
    hosted = manager.hosted

    def count(claim: Callable[[Partition], bool]) -> Callable[[], int]:
        return lambda: sum(1 for partition in hosted if claim(partition))

    metrics.gauge(f"{_REPLICAS}PartitionCount", lambda: len(hosted))
    metrics.gauge(f"{_REPLICAS}OfflineReplicaCount", lambda: len(hosted.offline))
    metrics.gauge(f"{_REPLICAS}LeaderCount", count(lambda partition: partition.is_leader))
    metrics.gauge(f"{_REPLICAS}UnderReplicatedPartitions", count(lambda partition: partition.is_under_replicated()))
    metrics.gauge(f"{_REPLICAS}UnderMinIsrPartitionCount", count(lambda partition: (partition.isr_margin() or 0) < 0))
    metrics.gauge(f"{_REPLICAS}AtMinIsrPartitionCount", count(lambda partition: partition.isr_margin() == 0))
    metrics.gauge(
        f"{_REPLICAS}ReassigningPartitions",
        count(lambda partition: partition.is_leader and bool(partition.adding_replicas or partition.removing_replicas)),
    )
    for purgatory in (manager.delayed_produces, manager.delayed_fetches, manager.delayed_delete_records):
        _register_purgatory(metrics, purgatory)
    sessions = manager.fetch_sessions
    metrics.gauge(f"{_SESSIONS}NumIncrementalFetchSessions", lambda: len(sessions))
    metrics.gauge(f"{_SESSIONS}NumIncrementalFetchPartitionsCached", lambda: sessions.partition_count)


def _register_purgatory(metrics: MetricsRegistry, purgatory: Purgatory) -> None:
    name = "kafka.server:type=DelayedOperationPurgatory,name="
    metrics.gauge(f"{name}PurgatorySize", lambda: purgatory.watch_count, delayedOperation=purgatory.name)
    metrics.gauge(f"{name}NumDelayedOperations", lambda: purgatory.waiting_count, delayedOperation=purgatory.name)
