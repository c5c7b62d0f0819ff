"""Waiting until this broker's metadata cache shows leaders that were just elected.

Role        ElectLeaders answers only when a client that asks this broker next will see the new leader.
Invariants  Answered exactly once: by the metadata update that shows the last leader, or at the deadline.
Source      DelayedElectLeader.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_zk.clock import Clock
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.purgatory import DelayedOperation, Purgatory


class LeaderWait:
    """The election requests whose outcome has not reached the metadata cache yet."""

    def __init__(self, metadata_cache: MetadataCache, clock: Clock) -> None:
        self._cache = metadata_cache
        self._purgatory = Purgatory("ElectLeader", clock)
        metadata_cache.on_change(self._check)

    def until_led(self, leaders: Mapping[TopicPartition, int], timeout_ms: int) -> Pending[set[TopicPartition]]:
        """Each partition is led by the given broker; the partitions of which that is not true in time."""
        waiting = _LeadersWait(self._cache, dict(leaders), max(0, timeout_ms))
        self._purgatory.complete_or_watch(waiting, {partition.topic for partition in leaders})
        return waiting.answer

    def shutdown(self) -> None:
        self._purgatory.shutdown()

    def _check(self, topics: Collection[str], deleted: Collection[TopicPartition]) -> None:
        for topic in topics:
            self._purgatory.check_and_complete(topic)


class _LeadersWait(DelayedOperation):
    __slots__ = ("_cache", "_expected", "answer")

    def __init__(self, cache: MetadataCache, expected: dict[TopicPartition, int], timeout_ms: int) -> None:
        super().__init__(timeout_ms)
        self._cache = cache
        self._expected = expected
        self.answer: Pending[set[TopicPartition]] = Pending()

    def try_complete(self) -> bool:
        self._expected = {tp: leader for tp, leader in self._expected.items() if not self._shows(tp, leader)}
        return not self._expected

    def on_complete(self) -> None:
        self.answer.complete(set(self._expected))

    def _shows(self, partition: TopicPartition, leader: int) -> bool:
        state = self._cache.partition(partition.topic, partition.partition)
        return state is not None and state.leader == leader
