"""The committed offsets of one group: committed, pending, expired.

Role        Pure state; the coordinator tells it what was appended and what failed.
Invariants  A value becomes valid only once its record is in the log, and never gives way to one from an older batch.
            A partition is pending while any commit of it is on its way or in an open transaction.
            What is removed does not come back with an append or a transaction that ends later.
Differs from Kafka: there, of several commits of one partition on their way only the last is known. When it fails, an
            earlier one that succeeds is acknowledged and not seen; and an offset that is removed while it is on its way
            gets no tombstone, so that it comes back with the next load.
Source      Kafka 3.9 GroupMetadata (offsets, pendingOffsetCommits, pendingTransactionalOffsetCommits,
            removeExpiredOffsets); KIP-211, KIP-447.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from kafka_zk.protocol.types import TopicPartition

NO_EXPIRE_TIMESTAMP = None
NO_PRODUCER_ID = -1
NO_BATCH = -1


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


class Commit:
    """The offsets of one request while their batch is on its way to the log.

    `producer_id` is that of the transaction they belong to, -1 for none. `committed` says how that transaction ended,
    if it did so before the append was heard of. `batch_offset` is where it was appended, -1 while that is not known.
    """

    __slots__ = ("batch_offset", "committed", "offsets", "producer_id")

    def __init__(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], producer_id: int) -> None:
        self.offsets = dict(offsets)
        self.producer_id = producer_id
        self.committed: bool | None = None
        self.batch_offset = NO_BATCH


class Removed(NamedTuple):
    """What a group knew of one partition, of which the log may have a record: a valid offset, commits on their way."""

    committed: Committed | None
    commits: tuple[tuple[Commit, OffsetAndMetadata], ...] = ()


class GroupOffsets:
    """`committed` is what consumers may start from."""

    __slots__ = ("_commits", "_transactions", "committed")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, Committed] = {}
        self._commits: set[Commit] = set()
        # By producer id: what the log holds of a transaction, until its marker says what becomes of it.
        self._transactions: dict[int, dict[TopicPartition, Committed]] = {}

    def get(self, partition: TopicPartition) -> OffsetAndMetadata | None:
        found = self.committed.get(partition)
        return None if found is None else found.value

    @property
    def partitions(self) -> Collection[TopicPartition]:
        """The partitions with a committed or pending offset."""
        found = set(self.committed)
        for commit in self._commits:
            found.update(commit.offsets)
        for offsets in self._transactions.values():
            found.update(offsets)
        return found

    @property
    def is_empty(self) -> bool:
        """Whether there are no committed and no pending offsets."""
        return not (self.committed or self._commits or self._transactions)

    @property
    def open_producers(self) -> Collection[int]:
        """The producers of transactions whose end this group waits for."""
        return {*self._transactions, *(commit.producer_id for commit in self._commits)} - {NO_PRODUCER_ID}

    def is_pending(self, partition: TopicPartition) -> bool:
        """Whether a commit of `partition` is not decided yet: a stable fetch must wait for it."""
        return any(partition in commit.offsets for commit in self._commits) or any(
            partition in offsets for offsets in self._transactions.values()
        )

    # --- commits -----------------------------------------------------------------------------------------------------

    def begin(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], producer_id: int = NO_PRODUCER_ID) -> Commit:
        """Records of these are about to be appended; `appended` or `failed` must follow."""
        commit = Commit(offsets, producer_id)
        self._commits.add(commit)
        return commit

    def appended(self, commit: Commit, batch_offset: int) -> None:
        """The commit is in the log, in the batch that begins at `batch_offset`."""
        self._commits.discard(commit)
        commit.batch_offset = batch_offset
        found = {partition: Committed(batch_offset, value) for partition, value in commit.offsets.items()}
        if commit.producer_id == NO_PRODUCER_ID or commit.committed:
            for partition, each in found.items():
                self.restore(partition, each)
        elif commit.committed is None and found:
            self.restore_transaction(commit.producer_id, found)

    def failed(self, commit: Commit) -> None:
        self._commits.discard(commit)

    def restore(self, partition: TopicPartition, found: Committed) -> None:
        """Make `found` valid unless a newer batch already spoke."""
        known = self.committed.get(partition)
        if known is None or known.batch_offset < found.batch_offset:
            self.committed[partition] = found

    # --- transactions ------------------------------------------------------------------------------------------------

    def restore_transaction(self, producer_id: int, offsets: Mapping[TopicPartition, Committed]) -> None:
        """What the log holds of a transaction that has no marker yet; later batches count more."""
        known = self._transactions.setdefault(producer_id, {})
        for partition, found in offsets.items():
            earlier = known.get(partition)
            if earlier is None or earlier.batch_offset < found.batch_offset:
                known[partition] = found

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """The producer's marker is in the log: its offsets become valid, or are forgotten.

        A commit of it that is still on its way belongs to the same transaction: the next one cannot begin before this
        one's markers are written.
        """
        for commit in self._commits:
            if commit.producer_id == producer_id:
                commit.committed = is_commit
        ended = self._transactions.pop(producer_id, {})
        if is_commit:
            for partition, found in ended.items():
                self.restore(partition, found)

    # --- removal -----------------------------------------------------------------------------------------------------

    def known_of(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        """Those of `partitions` with a committed or pending offset."""
        if not (self._commits or self._transactions) and len(self.committed) < len(partitions):
            return [partition for partition in self.committed if partition in partitions]
        return [partition for partition in partitions if partition in self.committed or self.is_pending(partition)]

    def remove(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Removed]:
        """Forget these, whatever is on its way; those that may have a record in the log, which needs a tombstone."""
        removed = {}
        for partition in partitions:
            committed = self.committed.pop(partition, None)
            commits = []
            for commit in self._commits:
                value = commit.offsets.pop(partition, None)
                if value is not None and commit.producer_id == NO_PRODUCER_ID:
                    commits.append((commit, value))
            for producer_id, offsets in list(self._transactions.items()):
                offsets.pop(partition, None)
                if not offsets:
                    del self._transactions[producer_id]
            if committed is not None or commits:
                removed[partition] = Removed(committed, tuple(commits))
        return removed

    def remove_all(self) -> dict[TopicPartition, Removed]:
        return self.remove(self.partitions)

    def expire(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Removed]:
        """Forget the valid offsets of these. What a transaction may still commit is younger, and stays."""
        return {partition: Removed(self.committed.pop(partition)) for partition in partitions}

    def put_back(self, removed: Mapping[TopicPartition, Removed]) -> None:
        """Their tombstones were refused: they are valid again, but for those that gave way to newer ones since."""
        for partition, (committed, commits) in removed.items():
            if committed is not None:
                self.restore(partition, committed)
            for commit, value in commits:
                if commit in self._commits:
                    commit.offsets[partition] = value
                elif commit.batch_offset != NO_BATCH:
                    self.restore(partition, Committed(commit.batch_offset, value))

    def expired(
        self,
        now_ms: int,
        retention_ms: int,
        since: Callable[[OffsetAndMetadata], int],
        still_read: Collection[str] = (),
    ) -> list[TopicPartition]:
        """Partitions whose offset was not used for `retention_ms`, counted from `since(value)`.

        Offsets of topics in `still_read`, and those with a commit on its way, stay.
        """
        return [
            partition
            for partition, (_, value) in self.committed.items()
            if partition.topic not in still_read
            and not any(partition in commit.offsets for commit in self._commits if commit.producer_id < 0)
            and _has_expired(value, now_ms, retention_ms, since)
        ]


def _has_expired(
    value: OffsetAndMetadata, now_ms: int, retention_ms: int, since: Callable[[OffsetAndMetadata], int]
) -> bool:
    if value.expire_timestamp is not None:
        return now_ms >= value.expire_timestamp
    return now_ms - since(value) >= retention_ms
