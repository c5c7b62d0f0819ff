"""All replica fetchers of a broker: per leader up to num.replica.fetchers.

Role        Gives each followed partition to its fetcher, starts and stops fetchers.
Invariants  A partition is with one fetcher at most: that of its leader and its fetcher id.
Source      Kafka 3.9 AbstractFetcherManager, ReplicaFetcherManager.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metadata.snapshot import Node
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.topic_metrics import BrokerTopicStats
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.following.fetch_state import fetcher_id
from kafka_zk.replication.following.fetcher import Fetcher
from kafka_zk.replication.following.fetcher_metrics import FetcherMetrics, register_fetchers, thread_name
from kafka_zk.replication.following.leader_endpoint import Connect, LeaderEndpoint
from kafka_zk.replication.partition import Partition
from kafka_zk.replication.throttle import ReplicationQuota

__all__ = ["Connect", "FetcherManager"]

log = logging.getLogger("kafka.server.ReplicaFetcherManager")


class FetcherManager:
    def __init__(
        self,
        *,
        config: BrokerConfig,
        broker_id: int,
        clock: Clock,
        metadata_cache: MetadataCache,
        broker_epoch: Callable[[], int],
        connect: Connect,
        topic_stats: BrokerTopicStats,
        metrics: MetricsRegistry,
        wake: Callable[[Partition], None],
        throttle: ReplicationQuota,
    ) -> None:
        self._config = config
        self._size = config.num_replica_fetchers
        self._broker_id = broker_id
        self._clock = clock
        self._metadata_cache = metadata_cache
        self._broker_epoch = broker_epoch
        self._connect = connect
        self._topic_stats = topic_stats
        self._wake = wake
        self._throttle = throttle
        self._fetchers: dict[tuple[int, int], Fetcher] = {}
        self._metrics = metrics
        self._adds_none = False
        register_fetchers(metrics, self._named)

    def add_none(self) -> None:
        """Follow nothing new from now on: this broker is about to stop.

        If it followed the new leaders of its partitions for a moment, they would wait for it to rejoin the ISR.
        """
        self._adds_none = True

    def follow(self, partitions: Sequence[Partition]) -> None:
        """Blocks. Fetch these from their leaders. A leader without the inter-broker listener cannot be followed."""
        for partition in partitions:
            if self._adds_none:
                # Maybe only now: the last one waited for its fetcher.
                return
            fetcher = self._fetcher_for(partition)
            if fetcher is not None:
                fetcher.follow(partition)

    def forget(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Blocks. Stop fetching these; nothing is appended to them any more when this returns."""
        gone = list(topic_partitions)
        if gone:
            for fetcher in list(self._fetchers.values()):
                fetcher.forget(gone)

    def resize(self) -> None:
        """Blocks. Apply a changed num.replica.fetchers: redistribute the partitions."""
        if self._size == self._config.num_replica_fetchers or self._adds_none:
            return
        before, self._size = self._size, self._config.num_replica_fetchers
        log.info("Resizing fetcher thread pool size from %d to %d", before, self._size)
        followed = [partition for fetcher in self._fetchers.values() for partition in fetcher.followed]
        self.forget(partition.topic_partition for partition in followed)
        for partition in followed:
            # Its directory may have failed meanwhile; the others must not wait for the next control request.
            if partition.log is not None:
                self.follow([partition])
        self.stop_idle()

    def follow_addresses(self) -> None:
        """Blocks. Leaders may be at other addresses now: fetch from there what was fetched from the old ones.

        Differs from Kafka, whose fetchers keep the old address until a control request names a partition of that
        leader, and then forget all its other partitions.
        """
        if self._adds_none:
            return
        for key, fetcher in list(self._fetchers.items()):
            node = self._node(key[0])
            if node is not None and node != fetcher.node and self._let_go(key, fetcher):
                _end(fetcher)
                self.follow([partition for partition in fetcher.followed if partition.log is not None])

    def stop_idle(self) -> None:
        """Blocks. Stop the fetchers that have nothing left to follow."""
        for key, fetcher in list(self._fetchers.items()):
            if fetcher.is_idle and not fetcher.failed and self._let_go(key, fetcher):
                _end(fetcher)

    def shutdown(self) -> None:
        """Blocks. Stop all, and begin none: a move between log directories may end only now."""
        self._adds_none = True
        fetchers, self._fetchers = list(self._fetchers.values()), {}
        for fetcher in fetchers:
            _end(fetcher)

    def _let_go(self, key: tuple[int, int], fetcher: Fetcher) -> bool:
        """Whether it was still ours: while another one was ended, `shutdown` may have ended all of them."""
        is_ours = self._fetchers.get(key) is fetcher
        if is_ours:
            del self._fetchers[key]
        return is_ours

    def _named(self) -> list[tuple[str, Fetcher]]:
        return [(thread_name(*key), fetcher) for key, fetcher in self._fetchers.items()]

    def _node(self, leader_id: int) -> Node | None:
        return self._metadata_cache.node(leader_id, self._config.inter_broker_listener_name)

    def _fetcher_for(self, partition: Partition) -> Fetcher | None:
        leader_id = partition.leader_id
        topic, index = partition.topic_partition
        number = fetcher_id(topic, index, self._size)
        node = self._node(leader_id)
        if node is None:
            log.error("Cannot follow %s: broker %d has no inter-broker listener", partition.topic_partition, leader_id)
            return None
        fetcher = self._fetchers.get((leader_id, number))
        if fetcher is None:
            endpoint = LeaderEndpoint(
                node,
                broker_id=self._broker_id,
                client_id=f"broker-{self._broker_id}-fetcher-{number}",
                config=self._config,
                broker_epoch=self._broker_epoch,
                connect=self._connect,
            )
            fetcher = Fetcher(
                endpoint,
                name=f"ReplicaFetcher replicaId={self._broker_id}, leaderId={leader_id}, fetcherId={number}",
                clock=self._clock,
                backoff_ms=self._config.replica_fetch_backoff_ms,
                metrics=FetcherMetrics(
                    self._metrics, self._topic_stats, client_id=thread_name(leader_id, number), leader=node
                ),
                wake=self._wake,
                throttle=self._throttle,
            )
            self._fetchers[leader_id, number] = fetcher
            fetcher.start()
        return fetcher


def _end(fetcher: Fetcher) -> None:
    """Blocks. Stop the fetcher and remove its metrics."""
    fetcher.stop()
    fetcher.metrics.forget()
