"""Matches members to replicas in the same rack.

Role        Pure. Made by an assignor for one round.
Invariants  A member without a rack matches every rack; a partition whose replicas have no rack matches none.
Source      KIP-881: AbstractPartitionAssignor.useRackAwareAssignment, AbstractStickyAssignor.RackInfo,
            RangeAssignor.TopicAssignmentState.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kafka_zk.client.consumer.assignors.model import Member, ReplicaRacks
from kafka_zk.protocol.types import TopicPartition


class Racks:
    """The racks of members, and those of the replicas of each partition they may read."""

    def __init__(
        self, members: Iterable[Member], partitions: Iterable[TopicPartition], replica_racks: ReplicaRacks
    ) -> None:
        self._rack_of = {member.member_id: member.rack for member in members if member.rack}
        self._racks_of = {each: replica_racks.get(each, frozenset()) for each in partitions} if self._rack_of else {}
        self._member_count = Counter(self._rack_of.values())

    @property
    def matter(self) -> bool:
        """Whether some partition is nearer to one member than to another."""
        everywhere = frozenset().union(*self._racks_of.values())
        if everywhere.isdisjoint(self._member_count):
            return False
        return any(racks != everywhere for racks in self._racks_of.values())

    def keep_apart(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether the member has a rack, and the partition no replica there."""
        rack = self._rack_of.get(member_id)
        return rack is not None and rack not in self._racks_of.get(partition, ())

    def join(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether the member has a rack, and the partition a replica there."""
        return self._rack_of.get(member_id) in self._racks_of.get(partition, ())

    def near_by_count(self, partition: TopicPartition) -> int:
        """How many members are in racks of the partition."""
        return sum(self._member_count[rack] for rack in self._racks_of.get(partition, ()))


NO_RACKS = Racks((), (), {})
"""For a round without rack awareness."""
