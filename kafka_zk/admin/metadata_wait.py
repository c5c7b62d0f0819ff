"""Waiting until this broker's metadata cache shows what was asked of ZooKeeper.

Role        CreateTopics, CreatePartitions and DeleteTopics answer only when a client that asks this broker next will
            see their effect.
Invariants  Answered exactly once: by the metadata update that shows the last topic, or at the deadline.
Source      DelayedCreatePartitions, DelayedDeleteTopics.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafka_zk.clock import Clock
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.purgatory import DelayedOperation, Purgatory


class MetadataWait:
    """The requests that wait for topics to appear, to grow or to vanish."""

    def __init__(self, metadata_cache: MetadataCache, clock: Clock) -> None:
        self._cache = metadata_cache
        self._purgatory = Purgatory("topic", clock)
        metadata_cache.on_change(self._check)

    def until_led(self, partition_counts: dict[str, int], timeout_ms: int) -> Pending[set[str]]:
        """Every one of so many partitions of each topic has a leader; the topics of which that is not true in time."""

        def is_led(topic: str) -> bool:
            state = self._cache.topic(topic)
            count = partition_counts[topic]
            return state is not None and all(
                index in state.partitions and state.partitions[index].leader >= 0 for index in range(count)
            )

        return self._wait(partition_counts, is_led, timeout_ms)

    def until_gone(self, topics: Collection[str], timeout_ms: int) -> Pending[set[str]]:
        """The cache knows none of the topics any more; those that it still knows at the deadline."""
        return self._wait(topics, lambda topic: self._cache.topic(topic) is None, timeout_ms)

    def shutdown(self) -> None:
        self._purgatory.shutdown()

    def _wait(self, topics: Collection[str], is_done: Callable[[str], bool], timeout_ms: int) -> Pending[set[str]]:
        waiting = _TopicsWait(set(topics), is_done, timeout_ms)
        if timeout_ms <= 0:
            # Kafka answers such a request with a timeout without looking, even where the cache is up to date already.
            waiting.answer.complete(set(topics))
        else:
            self._purgatory.complete_or_watch(waiting, topics)
        return waiting.answer

    def _check(self, topics: Collection[str], deleted: Collection[TopicPartition]) -> None:
        for topic in topics:
            self._purgatory.check_and_complete(topic)


class _TopicsWait(DelayedOperation):
    __slots__ = ("_is_done", "answer", "open")

    def __init__(self, topics: set[str], is_done: Callable[[str], bool], timeout_ms: int) -> None:
        super().__init__(timeout_ms)
        self._is_done = is_done
        self.open = topics
        self.answer: Pending[set[str]] = Pending()

    def try_complete(self) -> bool:
        self.open = {topic for topic in self.open if not self._is_done(topic)}
        return not self.open

    def on_complete(self) -> None:
        self.answer.complete(self.open)
