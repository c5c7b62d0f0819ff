"""The partitions of one transaction: those that records wait for, those being added, those that may be sent to.

Role        Pure.
Source      Kafka 3.9 TransactionManager (newPartitionsInTransaction and its two others).
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.protocol.types import TopicPartition


class TransactionPartitions:
    """Each partition is in one of the three at most."""

    def __init__(self) -> None:
        self.has_new = False
        self._new: set[TopicPartition] = set()
        self._under_way: set[TopicPartition] = set()
        self._added: set[TopicPartition] = set()

    def __repr__(self) -> str:
        return f"new={sorted(self._new)} under way={sorted(self._under_way)} added={sorted(self._added)}"

    def __contains__(self, partition: object) -> bool:
        """Whether it may be sent to."""
        return partition in self._added

    def __bool__(self) -> bool:
        """Whether any may be sent to."""
        return bool(self._added)

    def want(self, partition: TopicPartition) -> bool:
        """A record was appended for it; whether that is news."""
        if partition in self._added or partition in self._under_way or partition in self._new:
            return False
        self._new.add(partition)
        self.has_new = True
        return True

    def take_new(self) -> frozenset[TopicPartition]:
        """What the coordinator has to be asked for: the new ones, and with them those under way."""
        self._under_way |= self._new
        self.drop_new()
        return frozenset(self._under_way)

    def drop_new(self) -> None:
        self._new.clear()
        self.has_new = False

    def answered(self, partitions: Iterable[TopicPartition], *, added: bool) -> None:
        wanted = set(partitions)
        self._under_way -= wanted
        if added:
            self._added |= wanted

    def clear(self) -> None:
        """The transaction is over."""
        self.drop_new()
        self._under_way.clear()
        self._added.clear()
