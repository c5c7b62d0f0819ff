"""Range: each member gets a consecutive range of every topic's partitions.

Role        Pure.
Invariants  Share sizes are the same with and without racks: a rack only decides which partitions.
            Topics with the same partition count and readers are distributed alike, also with racks, so records
            to be joined by key meet in one member.
Source      RangeAssignor; KIP-881.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from kafka_zk.client.consumer.assignors.model import (
    NO_REPLICA_RACKS,
    Assignment,
    Member,
    RebalanceProtocol,
    ReplicaRacks,
)
from kafka_zk.client.consumer.assignors.racks import Racks
from kafka_zk.protocol.types import TopicPartition


class RangeAssignor:
    """Distributes topics with equal partition counts alike: records to be joined by key meet in one member."""

    name = "range"
    protocol = RebalanceProtocol.EAGER

    def user_data(self, assigned: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
        return None

    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[Member],
        replica_racks: ReplicaRacks = NO_REPLICA_RACKS,
    ) -> Assignment:
        in_order = sorted(members, key=lambda member: member.place)
        shares = []
        for topic in sorted(partition_counts):
            readers = [member for member in in_order if topic in member.topics]
            if readers:
                shares.append(_Shares(topic, partition_counts[topic], readers, replica_racks))
        if any(each.racks.matter for each in shares):
            for alike in _shared_out_alike(shares):
                if len(alike) > 1:
                    _give_together(alike)
                elif alike[0].racks.matter:
                    alike[0].give_runs(near_by=True)
        assignment: Assignment = {member.member_id: [] for member in members}
        for each in shares:
            each.give_runs(near_by=False)
            for member_id, given in each.given.items():
                assignment[member_id].extend(sorted(given))
        return assignment


class _Shares:
    """One topic's partitions: what is left of them, and what its readers have."""

    def __init__(self, topic: str, count: int, readers: Sequence[Member], replica_racks: ReplicaRacks) -> None:
        self.readers = [reader.member_id for reader in readers]
        self.partitions = [TopicPartition(topic, number) for number in range(count)]
        self.racks = Racks(readers, self.partitions, replica_racks)
        self.given: Assignment = {reader: [] for reader in self.readers}
        # Its readers and their racks: topics that differ here cannot be joined within a rack.
        self.audience = frozenset((reader.member_id, reader.rack or None) for reader in readers)
        self._left = dict.fromkeys(self.partitions)
        self._share, self._larger_left = divmod(count, len(readers))

    def room(self, reader: str) -> int:
        """How many more partitions the reader may get."""
        return max(0, self._share + (self._larger_left > 0) - len(self.given[reader]))

    def give(self, reader: str, partitions: Iterable[TopicPartition]) -> None:
        given = self.given[reader]
        for partition in partitions:
            given.append(partition)
            del self._left[partition]
        if len(given) > self._share:
            self._larger_left -= 1

    def give_runs(self, *, near_by: bool) -> None:
        """Assign the rest, reader by reader; `near_by`: only partitions with a replica in the reader's rack."""
        for reader in self.readers:
            wanted = [each for each in self._left if not (near_by and self.racks.keep_apart(reader, each))]
            taken = list(islice(wanted, self.room(reader)))
            if taken:
                self.give(reader, taken)


def _shared_out_alike(shares: Iterable[_Shares]) -> list[list[_Shares]]:
    groups: dict[object, list[_Shares]] = {}
    for each in shares:
        groups.setdefault((each.audience, len(each.partitions)), []).append(each)
    return list(groups.values())


def _give_together(alike: Sequence[_Shares]) -> None:
    """Assign partitions of one number to a reader whose rack has replicas of all of them."""
    first = alike[0]
    if all(rack is None for _, rack in first.audience):
        return
    for number in range(len(first.partitions)):

        def may_have(reader: str, number: int = number) -> bool:
            return all(
                each.room(reader) and not each.racks.keep_apart(reader, each.partitions[number]) for each in alike
            )

        reader = _first(may_have, first.readers)
        if reader is not None:
            for each in alike:
                each.give(reader, [each.partitions[number]])


def _first(may_have: Callable[[str], bool], readers: Iterable[str]) -> str | None:
    return next(filter(may_have, readers), None)
