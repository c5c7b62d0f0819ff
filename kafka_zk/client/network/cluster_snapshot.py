"""An immutable snapshot of the cluster, from one Metadata response.

Role        Pure. Immutable: a newer response makes a new one, so any thread may read the one it holds.
Source      org.apache.kafka.common.Cluster, MetadataSnapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from uuid import UUID

from kafka_zk.client.addresses import Address
from kafka_zk.client.refusals import WHAT_WAITING_DOES_NOT_RESOLVE, error_about_topics
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import NULL_UUID, TopicPartition


@dataclass(frozen=True, slots=True)
class Node:
    """A broker, or a bootstrap server with an id below zero."""

    id: int
    address: Address
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.address} (id: {self.id} rack: {self.rack})"


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """One partition. `leader_id` is None without a leader, `leader_epoch` if the broker sends none."""

    topic: str
    partition: int
    leader_id: int | None
    leader_epoch: int | None
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """One topic with its partitions by number."""

    name: str
    topic_id: UUID = NULL_UUID
    is_internal: bool = False
    partitions: Mapping[int, PartitionMetadata] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Brokers and the topics that were asked for; `topic_errors` are the topic errors in the last response."""

    nodes: Mapping[int, Node]
    cluster_id: str | None = None
    controller_id: int | None = None
    topics: Mapping[str, TopicMetadata] = field(default_factory=dict)
    topic_errors: Mapping[str, ErrorCode] = field(default_factory=dict)

    def partition(self, partition: TopicPartition) -> PartitionMetadata | None:
        """What is known of a partition; None if it or its topic is not known."""
        topic = self.topics.get(partition.topic)
        return None if topic is None else topic.partitions.get(partition.partition)

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The id of the leader, if there is one."""
        known = self.partition(partition)
        return None if known is None else known.leader_id

    def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has; None if it is not known."""
        known = self.topics.get(topic)
        return None if known is None else len(known.partitions)

    def available_partitions(self, topic: str) -> list[int]:
        """The partitions that have a leader, in order."""
        known = self.topics.get(topic)
        if known is None:
            return []
        return sorted(number for number, each in known.partitions.items() if each.leader_id is not None)

    def raise_for_refused(self, topics: Collection[str]) -> None:
        """Raise BrokerError if one of the topics is not authorized or has an invalid name."""
        for code in WHAT_WAITING_DOES_NOT_RESOLVE:
            refused = [topic for topic, error in self.topic_errors.items() if error == code and topic in topics]
            if refused:
                raise error_about_topics(code, refused)

    def topic_names(self) -> Set[str]:
        return self.topics.keys()
