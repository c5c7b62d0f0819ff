"""Sticky assignment when members read different topics: moves single partitions while that helps.

Role        Pure. Called by the sticky assignors.
Invariants  Only members of a topic get its partitions. A move goes from a member to one that has at least two fewer.
            Partitions of a topic do not swap owners: instead of a move against another, that other moves back.
            Balance comes before racks: a partition moved for balance goes to the member with the fewest.
            Differs from Kafka: a former owner gets a partition back only while it reads the topic.
Source      AbstractStickyAssignor.GeneralAssignmentBuilder; KIP-54.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence

from kafka_zk.client.consumer.assignors.model import Assignment
from kafka_zk.client.consumer.assignors.moves import Moves
from kafka_zk.client.consumer.assignors.racks import NO_RACKS, Racks
from kafka_zk.protocol.types import TopicPartition


def share_mixed(
    partition_counts: Mapping[str, int],
    topics: Mapping[str, Sequence[str]],
    owned: Assignment,
    previous: Mapping[TopicPartition, str],
    racks: Racks,
) -> Assignment:
    """`topics` and `owned` have every member; `previous` names owners of generations before the newest."""
    return _Sharing(partition_counts, topics, previous, racks).run(owned)


class _Sharing:
    def __init__(
        self,
        partition_counts: Mapping[str, int],
        topics: Mapping[str, Sequence[str]],
        previous: Mapping[TopicPartition, str],
        racks: Racks,
    ) -> None:
        self._counts = partition_counts
        self._topics = {
            member: [topic for topic in named if topic in partition_counts] for member, named in topics.items()
        }
        self._readers: dict[str, list[str]] = {topic: [] for topic in partition_counts}
        for member, named in self._topics.items():
            for topic in named:
                self._readers[topic].append(member)
        self._previous = previous
        self._racks = racks
        self._moves = Moves()
        self._assignment: Assignment = {}
        self._owner: dict[TopicPartition, str] = {}
        self._by_load: list[tuple[int, str]] = []

    def run(self, owned: Assignment) -> Assignment:
        revoked = self._take_over(owned)
        # The topics with the fewest readers first: they have the least choice.
        in_order = sorted(self._counts, key=lambda topic: (len(self._readers[topic]), topic))
        everything = [TopicPartition(topic, number) for topic in in_order for number in range(self._counts[topic])]
        unassigned = [partition for partition in everything if partition not in self._owner]
        self._by_load = sorted((len(had), member) for member, had in self._assignment.items())
        starts_empty = self._by_load[-1][0] == 0
        far_from_all = [partition for partition in unassigned if not self._assign(partition, self._racks)]
        for partition in far_from_all:
            self._assign(partition, NO_RACKS)
        fixed = self._set_aside_what_cannot_change()
        before = {member: list(had) for member, had in self._assignment.items()}
        if not revoked:
            self._improve(filter(self._may_move, unassigned))
        moved = self._improve(filter(self._may_move, everything))
        if not starts_empty and moved and _imbalance(self._assignment) >= _imbalance(before):
            self._assignment = before
        return {**self._assignment, **fixed}

    def _take_over(self, owned: Assignment) -> bool:
        """Keep what members had and may still have. Returns whether topic or rack forces a member to give one up."""
        revoked = False
        for member, partitions in owned.items():
            reads = set(self._topics[member])
            kept = [
                partition
                for partition in partitions
                if partition.topic in reads and not self._racks.keep_apart(member, partition)
            ]
            revoked = revoked or len(kept) < len(partitions)
            self._assignment[member] = kept
            self._owner.update(dict.fromkeys(kept, member))
        return revoked

    def _assign(self, partition: TopicPartition, racks: Racks) -> bool:
        """Assign to the least loaded reader that `racks` allow; returns whether there is one."""
        member = self._least_loaded(partition, racks)
        if member is not None:
            self._give(partition, member)
        return member is not None

    def _least_loaded(self, partition: TopicPartition, racks: Racks) -> str | None:
        readers = (member for _, member in self._by_load if partition.topic in self._topics[member])
        return next((member for member in readers if not racks.keep_apart(member, partition)), None)

    def _give(self, partition: TopicPartition, member: str) -> None:
        had = self._assignment[member]
        self._by_load.remove((len(had), member))
        had.append(partition)
        insort(self._by_load, (len(had), member))
        self._owner[partition] = member

    def _take(self, partition: TopicPartition) -> str:
        member = self._owner.pop(partition)
        had = self._assignment[member]
        self._by_load.remove((len(had), member))
        had.remove(partition)
        insort(self._by_load, (len(had), member))
        return member

    def _may_move(self, partition: TopicPartition) -> bool:
        return len(self._readers[partition.topic]) > 1

    def _set_aside_what_cannot_change(self) -> Assignment:
        """Set aside members that have all they can read, and whose partitions no other member can read."""
        fixed: Assignment = {}
        for member in self._topics:
            had = self._assignment[member]
            if len(had) < self._most(member) or any(map(self._may_move, had)):
                continue
            self._by_load.remove((len(had), member))
            fixed[member] = self._assignment.pop(member)
        return fixed

    def _most(self, member: str) -> int:
        return sum(self._counts[topic] for topic in self._topics[member])

    def _improve(self, candidates: Iterable[TopicPartition]) -> bool:
        """Move partitions, repeatedly, while a move helps. Returns whether any was moved."""
        partitions = list(candidates)
        moved_at_all = False
        moved = True
        while moved:
            moved = False
            for partition in partitions:
                if self._is_balanced():
                    break
                moved = self._improve_one(partition) or moved
            moved_at_all = moved_at_all or moved
        return moved_at_all

    def _improve_one(self, partition: TopicPartition) -> bool:
        load = len(self._assignment[self._owner[partition]])
        former = self._previous.get(partition)
        former_reads = former in self._assignment and partition.topic in self._topics[former]
        if former is not None and former_reads and load > len(self._assignment[former]) + 1:
            self._move(partition, former)
            return True
        if any(load > len(self._assignment[reader]) + 1 for reader in self._readers[partition.topic]):
            receiver = self._least_loaded(partition, NO_RACKS)
            assert receiver is not None, "a topic with readers has one that has the least"
            self._move(partition, receiver)
            return True
        return False

    def _move(self, partition: TopicPartition, receiver: str) -> None:
        actual = self._moves.really_moved(partition, self._owner[partition], receiver)
        giver = self._take(actual)
        self._moves.record(actual, giver, receiver)
        self._give(actual, receiver)

    def _is_balanced(self) -> bool:
        """Whether no member could get a partition from one that has more."""
        if self._by_load[0][0] >= self._by_load[-1][0] - 1:
            return True
        for load, member in self._by_load:
            if load == self._most(member):
                continue
            for topic in self._topics[member]:
                for number in range(self._counts[topic]):
                    owner = self._owner[TopicPartition(topic, number)]
                    if owner != member and load < len(self._assignment[owner]):
                        return False
        return True


def _imbalance(assignment: Assignment) -> int:
    """The sum of the differences in load over all pairs of members."""
    loads = sorted(map(len, assignment.values()))
    return sum(load * (2 * index - len(loads) + 1) for index, load in enumerate(loads))
