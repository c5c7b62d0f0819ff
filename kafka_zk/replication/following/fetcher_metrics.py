"""Metrics of the replica fetchers.

Role        Meters of one fetcher, which go when it goes; the lag of each partition is a table made during a scrape.
Source      Kafka 3.9 FetcherStats, FetcherLagMetrics, AbstractFetcherManager (MinFetchRate, MaxLag),
            BrokerTopicStats.updateReplicationBytesIn and updateReassignmentBytesIn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Protocol

from kafka_zk.metadata.snapshot import Node
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.registry import Row
from kafka_zk.metrics.topic_metrics import BrokerTopicStats
from kafka_zk.protocol.types import TopicPartition

_FETCHERS = "kafka.server:type=ReplicaFetcherManager,clientId=Replica,name="
_STATS = "kafka.server:type=FetcherStats"
_LAGS = "kafka.server:type=FetcherLagMetrics"


def thread_name(leader_id: int, fetcher_id: int) -> str:
    """What Kafka calls the thread that would be this fetcher."""
    return f"ReplicaFetcherThread-{fetcher_id}-{leader_id}"


class FetcherMetrics:
    """The counts of one fetcher. `on_answer(1)` after each answer of the leader."""

    __slots__ = ("_bytes_in", "_metrics", "_names", "_requests", "_stats", "on_answer")

    def __init__(self, metrics: MetricsRegistry, stats: BrokerTopicStats, *, client_id: str, leader: Node) -> None:
        self._metrics = metrics
        self._stats = stats
        tags = f"clientId={client_id},brokerHost={leader.host},brokerPort={leader.port}"
        self._names = [
            f"kafka.server:type=FetcherStats,name={name},{tags}" for name in ("RequestsPerSec", "BytesPerSec")
        ]
        self._requests = metrics.meter(self._names[0])
        self._bytes_in = metrics.meter(self._names[1], event_type="bytes").mark
        self.on_answer: Callable[[int], None] = self._requests.mark

    def on_replicated(self, size_bytes: int, *, is_joining: bool) -> None:
        """Records were fetched. `is_joining`: to a replica that a reassignment adds."""
        self._bytes_in(size_bytes)
        self._stats.replication_bytes_in(size_bytes)
        if is_joining:
            self._stats.reassignment_bytes_in(size_bytes)

    @property
    def requests_per_second(self) -> float:
        """Over the last minute."""
        return self._requests.rates()[0]

    def forget(self) -> None:
        """The fetcher has ended."""
        for name in self._names:
            self._metrics.remove(name)


class Shown(Protocol):
    """A Fetcher, as far as metrics show it."""

    @property
    def metrics(self) -> FetcherMetrics: ...
    @property
    def failed(self) -> Collection[TopicPartition]: ...
    @property
    def is_dead(self) -> bool: ...
    @property
    def max_lag_records(self) -> int: ...
    def lags(self) -> Sequence[tuple[TopicPartition, int]]: ...


def register_fetchers(metrics: MetricsRegistry, fetchers: Callable[[], Iterable[tuple[str, Shown]]]) -> None:
    """Show the fetchers of a broker, given with their Kafka names, as they come and go."""

    def lag_rows() -> Iterator[Row]:
        for client_id, fetcher in fetchers():
            for (topic, partition), lag_records in fetcher.lags():
                yield (("clientId", client_id), ("topic", topic), ("partition", str(partition))), (lag_records,)

    def count(amount_of: Callable[[Shown], int]) -> Callable[[], int]:
        return lambda: sum(amount_of(fetcher) for _, fetcher in fetchers())

    metrics.gauge(f"{_FETCHERS}MaxLag", lambda: max((each.max_lag_records for _, each in fetchers()), default=0))
    metrics.gauge(
        f"{_FETCHERS}MinFetchRate",
        lambda: min((each.metrics.requests_per_second for _, each in fetchers()), default=0.0),
    )
    metrics.gauge(f"{_FETCHERS}FailedPartitionsCount", count(lambda fetcher: len(fetcher.failed)))
    metrics.gauge(f"{_FETCHERS}DeadThreadCount", count(lambda fetcher: int(fetcher.is_dead)))
    metrics.gauge_table(_LAGS, ("ConsumerLag",), lag_rows, row_count=count(lambda fetcher: len(fetcher.lags())))
