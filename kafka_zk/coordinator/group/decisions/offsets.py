"""The committed offsets of one group: what is valid, what is on its way to the log, what has expired.

Role        Pure state; the coordinator tells it what was appended and what failed.
Invariants  A value becomes valid only once its record is in the log, and never gives way to one from an older batch.
            Several commits of one partition may be on their way; the last of them decides whether it is pending.
Source      Kafka 3.9 GroupMetadata (offsets, pendingOffsetCommits, removeExpiredOffsets); KIP-211.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from kafka_zk.protocol.types import TopicPartition

NO_LEADER_EPOCH = -1
NO_EXPIRE_TIMESTAMP = None


class OffsetAndMetadata(NamedTuple):
    """One committed offset. Timestamps are wall ms; `expire_timestamp` only where an old client asked for it."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int | None = NO_EXPIRE_TIMESTAMP


class Committed(NamedTuple):
    """A valid offset, and the base offset of the batch that holds its record."""

    batch_offset: int
    value: OffsetAndMetadata


class GroupOffsets:
    """`committed` is what consumers may start from."""

    __slots__ = ("_pending", "_pending_transactions", "committed")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, Committed] = {}
        self._pending: dict[TopicPartition, OffsetAndMetadata] = {}
        # By producer id: what a transaction commits once its marker says so.
        self._pending_transactions: dict[int, dict[TopicPartition, Committed]] = {}

    def get(self, partition: TopicPartition) -> OffsetAndMetadata | None:
        found = self.committed.get(partition)
        return None if found is None else found.value

    @property
    def partitions(self) -> Iterable[TopicPartition]:
        """All that have, or may soon have, a valid offset."""
        return {
            *self.committed,
            *self._pending,
            *(p for offsets in self._pending_transactions.values() for p in offsets),
        }

    @property
    def is_empty(self) -> bool:
        """Nothing is kept and nothing is on its way."""
        return not (self.committed or self._pending or self._pending_transactions)

    def is_pending(self, partition: TopicPartition) -> bool:
        """Whether a commit of `partition` is not decided yet: a stable fetch must wait for it."""
        return partition in self._pending or any(
            partition in offsets for offsets in self._pending_transactions.values()
        )

    # --- commits -----------------------------------------------------------------------------------------------------

    def begin(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Records of these are about to be appended."""
        self._pending.update(offsets)

    def appended(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], batch_offset: int) -> None:
        """They are in the log, in the batch that begins at `batch_offset`."""
        for partition, value in offsets.items():
            # Not pending any more: the topic was deleted meanwhile, and the offset shall not come back.
            if partition in self._pending:
                self.restore(partition, Committed(batch_offset, value))
            self._settle(partition, value)

    def failed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for partition, value in offsets.items():
            self._settle(partition, value)

    def restore(self, partition: TopicPartition, found: Committed) -> None:
        """Make `found` valid unless a newer batch already spoke."""
        known = self.committed.get(partition)
        if known is None or known.batch_offset < found.batch_offset:
            self.committed[partition] = found

    def restore_pending_transaction(self, producer_id: int, offsets: Mapping[TopicPartition, Committed]) -> None:
        """What the log holds of a transaction that has no marker yet."""
        self._pending_transactions.setdefault(producer_id, {}).update(offsets)

    def _settle(self, partition: TopicPartition, value: OffsetAndMetadata) -> None:
        if self._pending.get(partition) is value:
            del self._pending[partition]

    # --- removal -----------------------------------------------------------------------------------------------------

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Forget these; those that had a valid offset, whose records need tombstones."""
        removed = []
        for partition in partitions:
            self._pending.pop(partition, None)
            for offsets in self._pending_transactions.values():
                offsets.pop(partition, None)
            if self.committed.pop(partition, None) is not None:
                removed.append(partition)
        return removed

    def remove_all(self) -> list[TopicPartition]:
        return self.remove(list(self.committed))

    def expired(
        self,
        now_ms: int,
        retention_ms: int,
        since: Callable[[OffsetAndMetadata], int],
        still_read: Collection[str] = (),
    ) -> list[TopicPartition]:
        """Partitions whose offset nobody wanted for `retention_ms`, counted from `since(value)`.

        Offsets of topics in `still_read`, and those with a commit on its way, stay.
        """
        return [
            partition
            for partition, (_, value) in self.committed.items()
            if partition.topic not in still_read
            and partition not in self._pending
            and _has_expired(value, now_ms, retention_ms, since)
        ]


def _has_expired(
    value: OffsetAndMetadata, now_ms: int, retention_ms: int, since: Callable[[OffsetAndMetadata], int]
) -> bool:
    if value.expire_timestamp is not None:
        return now_ms >= value.expire_timestamp
    return now_ms - since(value) >= retention_ms
