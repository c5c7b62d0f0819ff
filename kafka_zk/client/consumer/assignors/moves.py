"""Which partitions moved from whom to whom while a group is balanced.

Role        Pure. Kept by one run of the sticky assignor.
Invariants  A partition has at most one move: from where it was at the start to where it is now.
Source      AbstractStickyAssignor.PartitionMovements.
"""

from __future__ import annotations

from kafka_zk.client.consumer.assignors.java_order import in_hash_order, partition_hash
from kafka_zk.protocol.types import TopicPartition

_Pair = tuple[str, str]


class Moves:
    """Moves so far."""

    def __init__(self) -> None:
        self._pairs: dict[TopicPartition, _Pair] = {}
        self._by_topic: dict[str, dict[_Pair, dict[TopicPartition, None]]] = {}

    def record(self, partition: TopicPartition, giver: str, receiver: str) -> None:
        """`partition` goes from `giver` to `receiver`; back at its start it has not moved at all."""
        origin = giver
        if partition in self._pairs:
            pair = self._pairs.pop(partition)
            assert pair[1] == giver, f"{partition} is given by {giver}, but {pair[1]} has it"
            same = self._by_topic[partition.topic][pair]
            del same[partition]
            if not same:
                del self._by_topic[partition.topic][pair]
            origin = pair[0]
            if origin == receiver:
                return
        self._pairs[partition] = origin, receiver
        self._by_topic.setdefault(partition.topic, {}).setdefault((origin, receiver), {})[partition] = None

    def really_moved(self, partition: TopicPartition, giver: str, receiver: str) -> TopicPartition:
        """What to move in its place: one of the same topic that went the opposite way goes back instead."""
        origin = self._pairs[partition][0] if partition in self._pairs else giver
        opposite = self._by_topic.get(partition.topic, {}).get((receiver, origin))
        return in_hash_order(opposite, partition_hash)[0] if opposite else partition
