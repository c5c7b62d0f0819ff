"""One decided transaction, as those who write its markers see it.

Role        Passive, and pure: it notes what it is told on the transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafka_zk.coordinator.ownership import Load
from kafka_zk.coordinator.transaction.decisions.transaction import Transaction
from kafka_zk.protocol.types import TopicPartition


class Ending:
    """Of a transaction that was decided under `load`. `done()` is called when no marker is left to write."""

    __slots__ = ("_load", "_transaction", "done")

    def __init__(self, transaction: Transaction, load: Load, done: Callable[[], object]) -> None:
        self._transaction = transaction
        self._load = load
        self.done = done

    def is_wanted(self) -> bool:
        """Whether this broker still is to write the markers: another coordinator may have the transaction."""
        return self._transaction.load is self._load

    def written(self, partitions: Collection[TopicPartition]) -> None:
        """These want no marker any more."""
        self._transaction.markers_written(partitions)

    def delayed(self) -> None:
        """A marker is another broker's to write, or has to be tried again."""
        self._transaction.ends_soon = False
