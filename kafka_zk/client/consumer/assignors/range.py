"""Range: of every topic each member takes a run of partitions next to each other.

Role        Pure.
Source      RangeAssignor, for members and brokers without racks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_zk.client.consumer.assignors.model import Assignment, Member, RebalanceProtocol
from kafka_zk.protocol.types import TopicPartition


class RangeAssignor:
    """Topics with as many partitions are shared out alike, so what is joined by key meets in one member."""

    name = "range"
    protocol = RebalanceProtocol.EAGER

    def user_data(self, assigned: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
        return None

    def assign(self, partition_counts: Mapping[str, int], members: Sequence[Member]) -> Assignment:
        assignment: Assignment = {member.member_id: [] for member in members}
        for topic in sorted(partition_counts):
            readers = sorted((member for member in members if topic in member.topics), key=lambda member: member.place)
            start = 0
            for index, reader in enumerate(readers):
                share, rest = divmod(partition_counts[topic], len(readers))
                end = start + share + (index < rest)
                assignment[reader.member_id].extend(TopicPartition(topic, number) for number in range(start, end))
                start = end
        return assignment
