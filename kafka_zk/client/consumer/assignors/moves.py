"""Records which partitions moved between members while a group is balanced.

Role        Pure. Kept by one run of the sticky assignor.
Invariants  A partition has at most one move: from where it was at the start to where it is now.
Source      AbstractStickyAssignor.PartitionMovements.
"""

from __future__ import annotations

from collections import defaultdict

from kafka_zk.java_hash import in_hash_order, partition_hash
from kafka_zk.protocol.types import TopicPartition

_Ends = tuple[str, str]
_Route = tuple[str, str, str]


class Moves:
    """Moves so far: giver and receiver of each partition, and the partitions by that pair, in order."""

    def __init__(self) -> None:
        self._ends: dict[TopicPartition, _Ends] = {}
        self._routes: defaultdict[_Route, dict[TopicPartition, None]] = defaultdict(dict)

    def record(self, partition: TopicPartition, giver: str, receiver: str) -> None:
        """Move `partition` from `giver` to `receiver`; back at its first owner, it counts as not moved."""
        origin, holder = self._ends.pop(partition, (giver, giver))
        assert holder == giver, f"{partition} is given by {giver}, but {holder} has it"
        self._routes[partition.topic, origin, giver].pop(partition, None)
        if origin != receiver:
            self._ends[partition] = origin, receiver
            self._routes[partition.topic, origin, receiver][partition] = None

    def really_moved(self, partition: TopicPartition, giver: str, receiver: str) -> TopicPartition:
        """The partition to move instead: one of the same topic that moved the opposite way, if any."""
        origin, _ = self._ends.get(partition, (giver, giver))
        opposite = self._routes.get((partition.topic, receiver, origin))
        return in_hash_order(opposite, partition_hash)[0] if opposite else partition
