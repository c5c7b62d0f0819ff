"""What the brokers of a cluster hold: replicas, leaders, bytes, by broker and by log directory.

Role        Pure. `ClusterLoad` is changed by one function, `replace`, and keeps its sums true.
Invariants  A partition is on a broker at most once. The first replica is the preferred leader.
            Each broker's replicas are kept sorted by size, so that one of about a size is found without a walk.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_zk.protocol.types import TopicPartition

Sized = tuple[int, TopicPartition]
"""A replica's bytes, and the partition."""


@dataclass(slots=True)
class Directory:
    """A log directory: replicas in it, their bytes, and bytes that are free (None: its broker does not say)."""

    path: str
    used_bytes: int
    free_bytes: int | None = None
    replica_count: int = 0


@dataclass(slots=True)
class BrokerLoad:
    """One broker. `may_receive` is False for one that is drained or not alive."""

    broker_id: int
    rack: str | None = None
    directories: list[Directory] = field(default_factory=list)
    may_receive: bool = True
    replicas: list[Sized] = field(default_factory=list)
    leaders: int = 0
    bytes: int = 0

    @property
    def replica_count(self) -> int:
        return len(self.replicas)

    def roomiest(self, size: int) -> Directory | None:
        """The emptiest directory with room for `size` bytes; None where there is none."""
        fitting = [each for each in self.directories if each.free_bytes is None or each.free_bytes > size]
        return min(fitting, key=lambda each: (each.used_bytes, each.replica_count, each.path), default=None)

    def has_room(self, size: int) -> bool:
        return not self.directories or self.roomiest(size) is not None


class ClusterLoad:
    """The brokers, and the replicas of every partition as they are, or as a plan will have them."""

    def __init__(
        self,
        brokers: Iterable[BrokerLoad],
        assignment: Mapping[TopicPartition, Sequence[int]],
        sizes: Mapping[TopicPartition, int],
    ) -> None:
        """`sizes` in bytes of one replica; a partition that is missing there is empty."""
        self.brokers = {broker.broker_id: broker for broker in brokers}
        self.sizes = sizes
        self.assignment: dict[TopicPartition, tuple[int, ...]] = {}
        self.places: dict[tuple[TopicPartition, int], str] = {}
        """The directory that `replace` chose for a replica on a broker."""
        for partition, replicas in assignment.items():
            for broker_id in replicas:
                # One that is not alive, or left long ago.
                self.brokers.setdefault(broker_id, BrokerLoad(broker_id, may_receive=False))
            self.assignment[partition] = tuple(replicas)
        self._count()

    def _count(self) -> None:
        for broker in self.brokers.values():
            broker.replicas, broker.leaders, broker.bytes = [], 0, 0
        for partition, replicas in self.assignment.items():
            size = self.size(partition)
            for broker_id in replicas:
                self.brokers[broker_id].replicas.append((size, partition))
                self.brokers[broker_id].bytes += size
            if replicas:
                self.brokers[replicas[0]].leaders += 1
        for broker in self.brokers.values():
            broker.replicas.sort()

    def size(self, partition: TopicPartition) -> int:
        return self.sizes.get(partition, 0)

    def racks(self, replicas: Iterable[int]) -> int:
        """How many racks these brokers are in; a broker without a rack is one of its own."""
        return len({self.brokers[each].rack or each for each in replicas})

    def replace(self, partition: TopicPartition, leaving: int, coming: int) -> None:
        """Give the place of a replica to another broker."""
        before = self.assignment[partition]
        after = tuple(coming if each == leaving else each for each in before)
        size = self.size(partition)
        source, target = self.brokers[leaving], self.brokers[coming]
        del source.replicas[bisect_left(source.replicas, (size, partition))]
        insort(target.replicas, (size, partition))
        source.bytes -= size
        target.bytes += size
        directory = target.roomiest(size)
        if directory is not None:
            directory.used_bytes += size
            directory.replica_count += 1
            self.places[partition, coming] = directory.path
            if directory.free_bytes is not None:
                directory.free_bytes -= size
        if before[0] == leaving:
            source.leaders -= 1
            target.leaders += 1
        self.assignment[partition] = after

    def prefer(self, partition: TopicPartition, leader: int) -> None:
        """Make one of a partition's replicas its preferred leader; the first takes its place."""
        before = self.assignment[partition]
        swap = {before[0]: leader, leader: before[0]}
        self.assignment[partition] = tuple(swap.get(each, each) for each in before)
        self.brokers[before[0]].leaders -= 1
        self.brokers[leader].leaders += 1
