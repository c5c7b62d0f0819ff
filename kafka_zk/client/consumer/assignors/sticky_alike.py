"""Sticky assignment when all members read the same topics: each gets the quota, rounded up or down.

Role        Pure. Called by the sticky assignors.
Invariants  No member has fewer than the smaller quota; exactly `total % members` have the larger one.
            A member loses a partition only when it has more than its quota, or no replica of it in its rack.
            Differs from Kafka: members in the racks of many partitions take no more larger quotas than there
            are; Java's leader may run out of them, and fail.
Source      AbstractStickyAssignor.ConstrainedAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_zk.client.consumer.assignors.model import Assignment
from kafka_zk.client.consumer.assignors.racks import Racks
from kafka_zk.protocol.types import TopicPartition


def share_alike(partition_counts: Mapping[str, int], owned: Assignment, racks: Racks) -> Assignment:
    """`owned` has every member, in the order in which Java's leaders go through them."""
    total = sum(partition_counts.values())
    quota, larger_count = divmod(total, len(owned))
    assignment = _keep(owned, quota, larger_count, racks)
    kept = {partition for partitions in assignment.values() for partition in partitions}
    unassigned = [
        partition
        for topic in sorted(partition_counts)
        for partition in (TopicPartition(topic, number) for number in range(partition_counts[topic]))
        if partition not in kept
    ]
    # Those with the fewest members near by have the least choice.
    unassigned.sort(key=racks.near_by_count)
    deal = _Deal(assignment, quota, larger_count)
    deal.to_anybody(deal.within_racks(unassigned, racks))
    return assignment


def _keep(owned: Assignment, quota: int, larger_count: int, racks: Racks) -> Assignment:
    """What each member keeps of what it had. Low numbers first: members keep equal numbers of all topics."""
    larger = 0
    assignment: Assignment = {}
    for member_id, had in owned.items():
        partitions = [partition for partition in had if not racks.keep_apart(member_id, partition)]
        keeps = quota
        if larger_count and len(partitions) > quota and larger < larger_count:
            larger += 1
            keeps = quota + 1
        assignment[member_id] = sorted(partitions, key=lambda had: (had.partition, had.topic))[:keeps]
    return assignment


class _Deal:
    """Assigns the rest one by one: round robin up to the smaller quota, then the larger ones."""

    def __init__(self, assignment: Assignment, quota: int, larger_count: int) -> None:
        self._assignment = assignment
        self._quota = quota
        self._larger_left = larger_count - sum(len(had) > quota for had in assignment.values())
        self._below = sorted(member_id for member_id, had in assignment.items() if len(had) < quota)
        self._ready = sorted(member_id for member_id, had in assignment.items() if len(had) == quota)
        self._turn = 0

    def within_racks(self, unassigned: Sequence[TopicPartition], racks: Racks) -> list[TopicPartition]:
        """Assign to members in racks of the partition. Returns the partitions that no such member could take."""
        left: list[TopicPartition] = []
        self._turn = 0
        for partition in unassigned:
            places = [*range(self._turn, len(self._below)), *range(self._turn)]
            place = next((each for each in places if racks.join(self._below[each], partition)), None)
            larger = next((each for each in self._ready if racks.join(each, partition)), None)
            if place is not None:
                self._give_in_turn(partition, place)
            elif larger is not None and self._larger_left:
                self._give_beyond(partition, larger)
            else:
                left.append(partition)
        return left

    def to_anybody(self, unassigned: Sequence[TopicPartition]) -> None:
        """Assign to any member that may take more."""
        self._turn = 0
        for partition in unassigned:
            if self._below:
                self._give_in_turn(partition, self._turn)
            else:
                self._give_beyond(partition, self._ready[0])

    def _give_in_turn(self, partition: TopicPartition, place: int) -> None:
        """Assign to a member below the smaller quota; the next call continues after that member."""
        member_id = self._below[place]
        self._assignment[member_id].append(partition)
        self._turn = place + 1
        if len(self._assignment[member_id]) == self._quota:
            del self._below[place]
            self._ready.append(member_id)
            self._turn = place
        self._turn %= len(self._below) or 1

    def _give_beyond(self, partition: TopicPartition, member_id: str) -> None:
        self._assignment[member_id].append(partition)
        self._ready.remove(member_id)
        self._larger_left -= 1
