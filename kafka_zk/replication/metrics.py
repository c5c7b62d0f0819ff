"""Metrics of the replicas.

Role        Registers the gauges once; each is evaluated on a scrape.
            Metrics of single partitions, of which there are thousands, are a table built on each scrape.
Source      Kafka 3.9 ReplicaManager (metrics of kafka.server:type=ReplicaManager), Partition,
            AbstractFetcherManager as ReplicaAlterLogDirsManager, DelayedOperationPurgatory, FetchSessionCache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.registry import Row
from kafka_zk.metrics.windows import RateOfTotal
from kafka_zk.replication.hosted import HostedPartitions
from kafka_zk.replication.purgatory import Purgatory

if TYPE_CHECKING:
    from kafka_zk.log.manager import LogManager
    from kafka_zk.replication.log_dir_moves import LogDirMoves
    from kafka_zk.replication.partition import Partition
    from kafka_zk.replication.serving.fetch_session import FetchSessionCache

_REPLICAS = "kafka.server:type=ReplicaManager,name="
_PARTITION = "kafka.cluster:type=Partition"
_PER_PARTITION = (
    "UnderReplicated",
    "InSyncReplicasCount",
    "UnderMinIsr",
    "AtMinIsr",
    "ReplicasCount",
    "LastStableOffsetLag",
)
_MOVES = "kafka.server:type=ReplicaAlterLogDirsManager,clientId=ReplicaAlterLogDirs,name="
_SESSIONS = "kafka.server:type=FetchSessionCache,name="


def register_gauges(
    metrics: MetricsRegistry,
    *,
    hosted: HostedPartitions,
    log_manager: LogManager,
    purgatories: Iterable[Purgatory],
    moves: LogDirMoves,
    sessions: FetchSessionCache,
    late_before_ms: Callable[[], int],
) -> None:
    """Show the parts of a ReplicaManager under Kafka's names.

    `late_before_ms()`: transactions whose producers wrote last before that should have been aborted.
    """

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
    metrics.gauge(
        f"{_REPLICAS}PartitionsWithLateTransactionsCount",
        count(lambda partition: _has_late_transaction(partition, late_before_ms())),
    )
    metrics.gauge(f"{_REPLICAS}ProducerIdCount", lambda: sum(log.producer_id_count for log in log_manager.all_logs()))
    metrics.gauge_table(_PARTITION, _PER_PARTITION, lambda: _partition_rows(hosted), row_count=lambda: len(hosted))
    for purgatory in purgatories:
        register_purgatory(metrics, purgatory)
    register_moves(metrics, moves)
    metrics.gauge(f"{_SESSIONS}NumIncrementalFetchSessions", lambda: len(sessions))
    metrics.gauge(f"{_SESSIONS}NumIncrementalFetchPartitionsCached", lambda: sessions.partition_count)
    evictions = f"{_SESSIONS}IncrementalFetchSessionEvictionsPerSec"
    metrics.meter_of(evictions, lambda: sessions.eviction_count, event_type="evictions")


def _has_late_transaction(partition: Partition, late_before_ms: int) -> bool:
    log = partition.log
    return log is not None and partition.is_leader and 0 < log.oldest_transaction_ms < late_before_ms


def register_moves(metrics: MetricsRegistry, moves: LogDirMoves) -> None:
    """Show the moves between log directories. No thread of theirs can die: each is a greenlet that is restarted."""
    chunks = RateOfTotal(lambda: moves.copied_chunks, metrics.window())
    metrics.on_fold(chunks.sample)
    metrics.gauge(f"{_MOVES}MaxLag", lambda: moves.max_lag_records)
    metrics.gauge(f"{_MOVES}MinFetchRate", chunks.rate)
    metrics.gauge(f"{_MOVES}FailedPartitionsCount", lambda: len(moves.failed))
    metrics.gauge(f"{_MOVES}DeadThreadCount", lambda: 0)


def _partition_rows(hosted: HostedPartitions) -> Iterator[Row]:
    for partition in hosted:
        topic, index = partition.topic_partition
        yield (("topic", topic), ("partition", str(index))), _values_of(partition)


def _values_of(partition: Partition) -> tuple[int, ...]:
    """In the order of _PER_PARTITION. All but the lag are the leader's knowledge, and 0 on followers."""
    log = partition.log
    lag = 0 if log is None else log.high_watermark - log.last_stable_offset
    margin = partition.isr_margin()
    if margin is None:
        return 0, 0, 0, 0, 0, lag
    return (
        int(partition.is_under_replicated()),
        len(partition.isr.committed),
        int(margin < 0),
        int(margin == 0),
        len(partition.assigned_replicas) - len(partition.adding_replicas),
        lag,
    )


def register_purgatory(metrics: MetricsRegistry, purgatory: Purgatory) -> None:
    """Show how many requests wait in `purgatory`."""
    name = "kafka.server:type=DelayedOperationPurgatory,name="
    metrics.gauge(f"{name}PurgatorySize", lambda: purgatory.watch_count, delayedOperation=purgatory.name)
    metrics.gauge(f"{name}NumDelayedOperations", lambda: purgatory.waiting_count, delayedOperation=purgatory.name)
