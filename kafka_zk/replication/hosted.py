"""The partitions that this broker hosts.

Role        Looks up hosted partitions, or raises why one is not available.
Invariants  A partition is hosted, or offline (its log directory failed), or neither; never both.
Source      Kafka 3.9 HostedPartition, ReplicaManager.getPartitionOrError.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Iterator

from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.protocol.errors import KafkaStorageError, NotLeaderOrFollower, UnknownTopicOrPartition
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.partition import Partition


class HostedPartitions:
    """Partitions by topic and index. `by_topic` is for reading on hot paths; no topic in it is empty."""

    __slots__ = ("_metadata_cache", "by_topic", "offline")

    def __init__(self, metadata_cache: MetadataCache) -> None:
        self.by_topic: dict[str, dict[int, Partition]] = {}
        self.offline: set[TopicPartition] = set()
        self._metadata_cache = metadata_cache

    def find(self, topic: str, index: int) -> Partition | None:
        """The partition if it is hosted and online."""
        partitions = self.by_topic.get(topic)
        return None if partitions is None else partitions.get(index)

    def get(self, topic: str, index: int) -> Partition:
        """The partition. Raises KafkaStorageError, NotLeaderOrFollower (hosted elsewhere), UnknownTopicOrPartition."""
        partition = self.find(topic, index)
        if partition is not None:
            return partition
        if (topic, index) in self.offline:
            raise KafkaStorageError(f"Partition {topic}-{index} is in an offline log directory")
        if self._metadata_cache.partition(topic, index) is not None:
            raise NotLeaderOrFollower(f"Replica for {topic}-{index} is not available on this broker")
        raise UnknownTopicOrPartition

    def check_leadership(self, partition: Partition, leadership: int) -> None:
        """Check that `partition` did not start a new leadership since `leadership` was noted. It may no longer lead.

        Waiters for offsets of one leadership must not accept those of the next one.
        Raises NotLeaderOrFollower, and what `get` raises.
        """
        self.get(*partition.topic_partition)
        if partition.leadership != leadership:
            raise NotLeaderOrFollower

    def add(self, partition: Partition) -> None:
        topic, index = partition.topic_partition
        self.by_topic.setdefault(topic, {})[index] = partition

    def remove(self, topic_partition: TopicPartition) -> Partition | None:
        """Take a partition out; the one that was hosted."""
        topic, index = topic_partition
        partitions = self.by_topic.get(topic)
        if partitions is None:
            return None
        partition = partitions.pop(index, None)
        if not partitions:
            del self.by_topic[topic]
        return partition

    def mark_offline(self, topic_partition: TopicPartition) -> Partition | None:
        """Its log directory failed; the partition that was hosted."""
        self.offline.add(topic_partition)
        return self.remove(topic_partition)

    def __iter__(self) -> Iterator[Partition]:
        """All hosted partitions, as they were when the loop began."""
        return iter([partition for partitions in self.by_topic.values() for partition in partitions.values()])

    def __len__(self) -> int:
        return sum(map(len, self.by_topic.values()))
