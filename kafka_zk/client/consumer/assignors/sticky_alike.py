"""Sharing out when all members read the same topics: everyone gets the quota, rounded down or up.

Role        Pure. Called by the sticky assignors.
Invariants  Nobody has fewer than the smaller quota; exactly `total % members` have the larger one.
            A member loses a partition only when it has more than its quota.
Source      AbstractStickyAssignor.ConstrainedAssignmentBuilder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from kafka_zk.client.consumer.assignors.model import Assignment
from kafka_zk.protocol.types import TopicPartition


def share_alike(partition_counts: Mapping[str, int], owned: Assignment) -> Assignment:
    """`owned` has every member, in the order in which Java's leaders go through them."""
    total = sum(partition_counts.values())
    quota, larger_count = divmod(total, len(owned))
    assignment = _keep(owned, quota, larger_count)
    kept = {partition for partitions in assignment.values() for partition in partitions}
    unassigned = (
        partition
        for topic in sorted(partition_counts)
        for partition in (TopicPartition(topic, number) for number in range(partition_counts[topic]))
        if partition not in kept
    )
    _deal_out(unassigned_to=assignment, quota=quota, larger_count=larger_count, unassigned=list(unassigned))
    return assignment


def _keep(owned: Assignment, quota: int, larger_count: int) -> Assignment:
    """What everyone may keep of what it had. Low numbers first: members keep like partitions of all topics."""
    larger = 0
    assignment: Assignment = {}
    for member_id, partitions in owned.items():
        keeps = quota
        if larger_count and len(partitions) > quota and larger < larger_count:
            larger += 1
            keeps = quota + 1
        assignment[member_id] = sorted(partitions, key=lambda had: (had.partition, had.topic))[:keeps]
    return assignment


def _deal_out(*, unassigned_to: Assignment, quota: int, larger_count: int, unassigned: list[TopicPartition]) -> None:
    """The rest, one by one: first up to the smaller quota, member by member in turn, then the larger ones."""
    below = deque(sorted(member_id for member_id, had in unassigned_to.items() if len(had) < quota))
    ready = deque(sorted(member_id for member_id, had in unassigned_to.items() if len(had) == quota))
    for partition in unassigned:
        if below:
            member_id = below.popleft()
            unassigned_to[member_id].append(partition)
            (ready if len(unassigned_to[member_id]) == quota else below).append(member_id)
        else:
            unassigned_to[ready.popleft()].append(partition)
