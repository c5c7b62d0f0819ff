"""What a group's leader knows about the topics that its members read.

Role        Pure. If two snapshots differ, the group must rebalance.
Source      ConsumerCoordinator.MetadataSnapshot, PartitionRackInfo; KIP-881.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kafka_zk.client.consumer.assignors import ReplicaRacks
from kafka_zk.client.network.cluster_snapshot import ClusterSnapshot
from kafka_zk.protocol.types import TopicPartition


@dataclass(frozen=True, slots=True)
class LedTopics:
    """Existing topics with their partition counts, and the racks of the replicas."""

    counts: dict[str, int] = field(default_factory=dict)
    replica_racks: ReplicaRacks = field(default_factory=dict)

    def means_another(self, now: LedTopics, rack: str | None) -> bool:
        """Whether a leader in `rack` rebalances: without a rack it ignores where replicas are."""
        return self.counts != now.counts or (rack is not None and self.replica_racks != now.replica_racks)


def led_topics(snapshot: ClusterSnapshot, topics: Iterable[str]) -> LedTopics:
    """For the topics that have partitions in the snapshot."""
    known = [snapshot.topics[topic] for topic in sorted(topics) if snapshot.partition_count(topic)]
    rack_of = {node.id: node.rack for node in snapshot.nodes.values() if node.rack}
    racks = {
        TopicPartition(topic.name, number): frozenset(rack_of[each] for each in partition.replicas if each in rack_of)
        for topic in known
        for number, partition in topic.partitions.items()
        if rack_of
    }
    return LedTopics({topic.name: len(topic.partitions) for topic in known}, racks)
