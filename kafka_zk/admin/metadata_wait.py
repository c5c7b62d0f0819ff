"""Waits until this broker's metadata cache shows a change made in ZooKeeper or by the controller.

Role        CreateTopics, CreatePartitions, DeleteTopics and ElectLeaders answer only when a client that asks this
            broker next will see their effect.
Invariants  Answered at most once: by the metadata update that shows the last of what is wanted, or at the deadline.
            A wait whose client has gone is forgotten; what it asked for happens all the same.
Source      DelayedCreatePartitions, DelayedDeleteTopics, DelayedElectLeader.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Generic, TypeVar

from kafka_zk.clock import Clock
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.metrics import register_purgatory
from kafka_zk.replication.purgatory import DelayedOperation, Purgatory

Wanted = TypeVar("Wanted")


class MetadataWait:
    """Requests of one `kind` that wait for the metadata cache. Each result is what the cache did not show in time."""

    def __init__(self, kind: str, metadata_cache: MetadataCache, clock: Clock) -> None:
        self._cache = metadata_cache
        self._purgatory = Purgatory(kind, clock)
        metadata_cache.on_change(self._check)

    def show_in(self, metrics: MetricsRegistry) -> None:
        """Show how many requests wait."""
        register_purgatory(metrics, self._purgatory)

    def until_led(self, partition_counts: Mapping[str, int], timeout_ms: int) -> Pending[set[str]]:
        """Wait until this many partitions of each topic have a leader."""

        def is_led(topic: str) -> bool:
            state = self._cache.topic(topic)
            count = partition_counts[topic]
            return state is not None and all(
                index in state.partitions and state.partitions[index].leader >= 0 for index in range(count)
            )

        return self._until_topics(partition_counts, is_led, timeout_ms)

    def until_gone(self, topics: Collection[str], timeout_ms: int) -> Pending[set[str]]:
        """Wait until the cache has dropped all of the topics."""
        return self._until_topics(topics, lambda topic: self._cache.topic(topic) is None, timeout_ms)

    def until_led_by(self, leaders: Mapping[TopicPartition, int], timeout_ms: int) -> Pending[set[TopicPartition]]:
        """Wait until each partition is led by the given broker."""

        def is_led(partition: TopicPartition) -> bool:
            state = self._cache.partition(partition.topic, partition.partition)
            return state is not None and state.leader == leaders[partition]

        wanted: dict[str, set[TopicPartition]] = {}
        for partition in leaders:
            wanted.setdefault(partition.topic, set()).add(partition)
        return self._wait(_Wait(wanted, is_led, max(0, timeout_ms)))

    def shutdown(self) -> None:
        self._purgatory.shutdown()

    def _until_topics(
        self, topics: Collection[str], is_shown: Callable[[str], bool], timeout_ms: int
    ) -> Pending[set[str]]:
        if timeout_ms <= 0:
            # Kafka answers such a request with a timeout without looking, even where the cache is up to date already.
            return completed(set(topics))
        return self._wait(_Wait({topic: {topic} for topic in topics}, is_shown, timeout_ms))

    def _wait(self, wait: _Wait[Wanted]) -> Pending[set[Wanted]]:
        wait.answer.when_left(lambda gone: self._purgatory.cancel(wait) if gone else None)
        self._purgatory.complete_or_watch(wait, list(wait.missing))
        return wait.answer

    def _check(self, topics: Collection[str], deleted: Collection[TopicPartition]) -> None:
        for topic in topics:
            self._purgatory.check_and_complete(topic)


class _Wait(DelayedOperation, Generic[Wanted]):
    """`missing`: what is wanted and not shown yet, by topic. An update costs only what is wanted of its topics."""

    __slots__ = ("_is_shown", "answer", "missing")

    def __init__(self, missing: dict[str, set[Wanted]], is_shown: Callable[[Wanted], bool], timeout_ms: int) -> None:
        super().__init__(timeout_ms)
        self._is_shown = is_shown
        self.missing = missing
        self.answer: Pending[set[Wanted]] = Pending()

    def try_complete(self) -> bool:
        for topic in list(self.missing):
            self._look_at(topic)
        return not self.missing

    def try_complete_for(self, key: Hashable) -> bool:
        if isinstance(key, str):
            self._look_at(key)
        return not self.missing

    def _look_at(self, topic: str) -> None:
        left = {each for each in self.missing.pop(topic, ()) if not self._is_shown(each)}
        if left:
            self.missing[topic] = left

    def on_complete(self) -> None:
        self.answer.complete({each for wanted in self.missing.values() for each in wanted})
