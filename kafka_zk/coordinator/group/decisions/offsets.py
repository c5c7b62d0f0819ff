"""The committed offsets of one group: committed, pending, expired.

Role        Pure state; the coordinator reports appends and failures.
Invariants  A value becomes valid only once its record is in the log, and an older batch never replaces it.
            A partition is pending while any commit of it is being appended or in an open transaction.
            A removed offset is not restored by an append or a transaction that ends later.
            A marker ends what is before it in the log, in whatever order the two are heard of. What comes behind it,
            where partitions do not verify transactions, is open until the producer's next marker, as a load finds it.
            It hides no value of before the marker: that one ends, whichever is heard of last.
Differs from Kafka: there, what is appended behind the marker that was heard of first is forgotten until the next load,
            and only the last of several pending commits of a partition is known. If it fails, an
            earlier one that succeeds is acknowledged and not visible; and an offset removed while being appended
            gets no tombstone, so the next load restores it.
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
    """One committed offset. Timestamps are wall ms; `expire_timestamp` only if an old client set it."""

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
    """The offsets of one request while their batch is being appended.

    `producer_id` is that of the transaction they belong to, -1 for none. `markers`: offsets of markers of this producer
    that were heard of before the append, and whether each one commits. `batch_offset` is its offset in the log, -1
    while unknown.
    """

    __slots__ = ("batch_offset", "markers", "offsets", "producer_id")

    def __init__(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], producer_id: int) -> None:
        self.offsets = dict(offsets)
        self.producer_id = producer_id
        self.markers: list[tuple[int, bool]] = []
        self.batch_offset = NO_BATCH


class Removed(NamedTuple):
    """A partition's removed state, of which the log may have a record: a valid offset, pending commits."""

    committed: Committed | None
    commits: tuple[tuple[Commit, OffsetAndMetadata], ...] = ()


class GroupOffsets:
    """`committed` is what consumers may start from.

    `overtaken`, by producer id: offsets of open transactions for which the same producer has a newer value. A marker
    that was not heard of yet may be between the two. Also tells cheaply that there are none.
    """

    __slots__ = ("_commits", "_transactions", "committed", "overtaken")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, Committed] = {}
        self._commits: set[Commit] = set()
        # By producer id: the offsets of an open transaction in the log, until its marker.
        self._transactions: dict[int, dict[TopicPartition, Committed]] = {}
        self.overtaken: dict[int, list[tuple[TopicPartition, Committed]]] = {}

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
        """The producers of transactions that this group waits for."""
        return {*self._transactions, *(commit.producer_id for commit in self._commits)} - {NO_PRODUCER_ID}

    def waits_for(self, producer_id: int) -> bool:
        """Whether a transaction of this producer may still decide offsets of the group."""
        return producer_id in self._transactions or any(commit.producer_id == producer_id for commit in self._commits)

    def is_pending(self, partition: TopicPartition) -> bool:
        """Whether a commit of `partition` is undecided: a stable fetch must wait for it."""
        return any(partition in commit.offsets for commit in self._commits) or any(
            partition in offsets for offsets in self._transactions.values()
        )

    # --- commits -----------------------------------------------------------------------------------------------------

    def begin(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], producer_id: int = NO_PRODUCER_ID) -> Commit:
        """Note that records of these are about to be appended; `appended` or `failed` must follow."""
        commit = Commit(offsets, producer_id)
        self._commits.add(commit)
        return commit

    def appended(self, commit: Commit, batch_offset: int) -> None:
        """The commit is in the log, in the batch that begins at `batch_offset`."""
        self._commits.discard(commit)
        commit.batch_offset = batch_offset
        found = {partition: Committed(batch_offset, value) for partition, value in commit.offsets.items()}
        committed: bool | None = None
        for marker_offset, is_commit in commit.markers:
            if marker_offset > batch_offset:
                committed = is_commit
                break
        if commit.producer_id == NO_PRODUCER_ID or committed:
            for partition, each in found.items():
                self.restore(partition, each)
        elif committed is None and found:
            self.restore_transaction(commit.producer_id, found)

    def failed(self, commit: Commit) -> None:
        self._commits.discard(commit)

    def restore(self, partition: TopicPartition, found: Committed) -> None:
        """Make `found` valid unless a newer batch has a value."""
        known = self.committed.get(partition)
        if known is None or known.batch_offset < found.batch_offset:
            self.committed[partition] = found

    # --- transactions ------------------------------------------------------------------------------------------------

    def restore_transaction(self, producer_id: int, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Restore the offsets of a transaction without marker; later batches override earlier ones."""
        known = self._transactions.setdefault(producer_id, {})
        for partition, found in offsets.items():
            other = known.get(partition)
            if other is None or other.batch_offset < found.batch_offset:
                known[partition] = found
                older = other
            else:
                older = found
            if older is not None:
                self.overtaken.setdefault(producer_id, []).append((partition, older))

    def drop_overtaken(self, producer_id: int, *, since: int) -> None:
        """Its transaction is open in the log `since` that offset: with no marker from there on, only the newest values
        count. Without this, a transaction could keep as many as it commits.
        """
        overtaken = self.overtaken.pop(producer_id, [])
        older = [(partition, found) for partition, found in overtaken if found.batch_offset < since]
        if older:
            self.overtaken[producer_id] = older

    def end_transaction(self, producer_id: int, *, is_commit: bool, marker_offset: int) -> None:
        """The producer's marker is in the log, there: its offsets before that become valid, or are dropped.

        Of a commit that is still being appended it counts once its offset is known.
        """
        for commit in self._commits:
            if commit.producer_id == producer_id:
                commit.markers.append((marker_offset, is_commit))
        behind: dict[TopicPartition, Committed] = {}
        for partition, found in self._transactions.pop(producer_id, {}).items():
            if found.batch_offset > marker_offset:
                behind[partition] = found
            elif is_commit:
                self.restore(partition, found)
        if behind:
            self._transactions[producer_id] = behind
        overtaken_behind: list[tuple[TopicPartition, Committed]] = []
        for partition, older in self.overtaken.pop(producer_id, ()):
            if older.batch_offset > marker_offset:
                overtaken_behind.append((partition, older))
            elif is_commit:
                self.restore(partition, older)
        if overtaken_behind:
            self.overtaken[producer_id] = overtaken_behind

    # --- removal -----------------------------------------------------------------------------------------------------

    def known_of(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        """Those of `partitions` with a committed or pending offset."""
        if not (self._commits or self._transactions) and len(self.committed) < len(partitions):
            return [partition for partition in self.committed if partition in partitions]
        return [partition for partition in partitions if partition in self.committed or self.is_pending(partition)]

    def remove(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Removed]:
        """Forget these, pending commits too. Returns those whose record in the log may need a tombstone."""
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
            for producer_id, overtaken in list(self.overtaken.items()):
                left = [each for each in overtaken if each[0] != partition]
                if left:
                    self.overtaken[producer_id] = left
                else:
                    del self.overtaken[producer_id]
            if committed is not None or commits:
                removed[partition] = Removed(committed, tuple(commits))
        return removed

    def remove_all(self) -> dict[TopicPartition, Removed]:
        return self.remove(self.partitions)

    def expire(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Removed]:
        """Forget the valid offsets of these. Offsets that a transaction may still commit are newer, and stay."""
        return {partition: Removed(self.committed.pop(partition)) for partition in partitions}

    def put_back(self, removed: Mapping[TopicPartition, Removed]) -> None:
        """Their tombstones were refused: make them valid again, except those replaced since."""
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

        Offsets of topics in `still_read`, and those with a pending commit, stay.
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
