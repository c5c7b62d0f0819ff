"""Round robin: distributes all partitions of all topics one by one.

Role        Pure. Ignores racks, as Java's does.
Source      RoundRobinAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_zk.client.consumer.assignors.model import (
    NO_REPLICA_RACKS,
    Assignment,
    Member,
    RebalanceProtocol,
    ReplicaRacks,
)
from kafka_zk.protocol.types import TopicPartition


class RoundRobinAssignor:
    """A member that does not read a topic is skipped for its partitions."""

    name = "roundrobin"
    protocol = RebalanceProtocol.EAGER

    def user_data(self, assigned: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
        return None

    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[Member],
        replica_racks: ReplicaRacks = NO_REPLICA_RACKS,
    ) -> Assignment:
        assignment: Assignment = {member.member_id: [] for member in members}
        circle = sorted(members, key=lambda member: member.place)
        subscribed = {topic for member in members for topic in member.topics}
        turn = 0
        for topic in sorted(subscribed & partition_counts.keys()):
            for number in range(partition_counts[topic]):
                while topic not in circle[turn % len(circle)].topics:
                    turn += 1
                assignment[circle[turn % len(circle)].member_id].append(TopicPartition(topic, number))
                turn += 1
        return assignment
