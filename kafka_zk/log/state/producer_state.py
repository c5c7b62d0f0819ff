"""The state of a partition's idempotent and transactional producers.

Role        Pure: decides whether a batch may be appended, and follows what was appended. The log keeps the files.
Invariants  Sequences of a producer epoch follow one another, wrapping from 2147483647 to 0; a new epoch starts at 0.
            The last five batches are remembered, so a retry of one of them is recognised; a snapshot keeps only the
            last. `map_end_offset` is the offset up to which (exclusive) the state includes the log.
            A transaction is open from its first batch to its marker, and unstable until the marker is below the high
            watermark. Both kinds are kept in the order they began, so the oldest one is found at once, however many
            there are: each move of the high watermark asks for it.
Source      ProducerStateManager, ProducerAppendInfo, ProducerStateEntry.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafka_zk.log.files.producer_snapshot import Row, SnapshotEntry
from kafka_zk.log.state.verification import VerificationGuard, Verifications
from kafka_zk.protocol.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)
from kafka_zk.record.batch import TRANSACTIONAL_BIT, BatchHeader
from kafka_zk.record.control import EndTransactionMarker
from kafka_zk.record.produced import Origin

KEPT_BATCHES = 5
NO_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
_SEQUENCE_MASK = 0x7FFFFFFF


class KeptBatch(NamedTuple):
    """One of a producer's last batches."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & _SEQUENCE_MASK


class CompletedTransaction(NamedTuple):
    """A transaction whose marker was appended at `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerEntry:
    """One producer id. -1 means "none" everywhere."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = NO_EPOCH
        self.batches: deque[KeptBatch] = deque(maxlen=KEPT_BATCHES)
        self.coordinator_epoch = -1
        self.current_txn_first_offset = NO_OFFSET
        self.last_timestamp = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def duplicate_of(self, header: BatchHeader) -> KeptBatch | None:
        """The kept batch that `header` repeats: same epoch, same first and last sequence."""
        if header.producer_epoch != self.producer_epoch:
            return None
        last_sequence = header.last_sequence
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence == header.base_sequence:
                return batch
        return None

    def __repr__(self) -> str:
        txn = f" txn from {self.current_txn_first_offset}" if self.current_txn_first_offset >= 0 else ""
        return f"producer {self.producer_id} epoch={self.producer_epoch} sequence={self.last_sequence}{txn}"


class ProducerState:
    """All producers of one partition."""

    def __init__(self, topic_partition: str, map_end_offset: int = 0) -> None:
        self.topic_partition = topic_partition
        self.producers: dict[int, ProducerEntry] = {}
        self.verifications = Verifications()
        self.map_end_offset = map_end_offset
        self._open: OrderedDict[int, int] = OrderedDict()
        """First offset of each open transaction -> its producer, in the order they began. Ordered: the first key of a
        dict is behind all those that were deleted before it."""
        self._unstable: OrderedDict[int, None] = OrderedDict()
        """The same first offsets, and those of transactions that ended and are not replicated."""
        self._unreplicated: deque[CompletedTransaction] = deque()
        """Those that ended, in the order of their markers, not yet below the high watermark."""

    # Before an append

    def find_duplicate(self, header: BatchHeader) -> KeptBatch | None:
        """The earlier append that this batch repeats, if it is one of the producer's last five."""
        entry = self.producers.get(header.producer_id)
        return entry.duplicate_of(header) if entry is not None else None

    def check(
        self,
        header: BatchHeader,
        offset: int,
        origin: Origin = Origin.CLIENT,
        guard: VerificationGuard | None = None,
    ) -> None:
        """Raise unless a data batch may follow at `offset`. `guard`: that of its verified transaction, if it has one.

        Raises InvalidProducerEpoch, OutOfOrderSequenceNumber, InvalidTxnState.
        """
        entry = self.producers.get(header.producer_id)
        # Producer ids came with the transactional bit: no look at the magic, on the path of each idempotent produce.
        is_transactional = header.attributes & TRANSACTIONAL_BIT != 0
        if is_transactional and (entry is None or entry.current_txn_first_offset < 0):
            self._check_verified(header.producer_id, guard)
        if entry is not None:
            self._check_epoch(entry, header.producer_epoch, offset)
        if origin is Origin.CLIENT and self.verifications.by_producer:
            self._check_lowest_sequence(header, offset)
        if entry is None:
            return
        if origin is Origin.CLIENT:
            self._check_sequence(entry, header, offset)
        if entry.current_txn_first_offset >= 0 and not is_transactional:
            raise InvalidTxnState(
                f"Expected transactional write from producer {header.producer_id} at offset {offset} "
                f"in partition {self.topic_partition}"
            )

    def check_marker(self, header: BatchHeader, marker: EndTransactionMarker, offset: int) -> None:
        """Raise unless a transaction marker may follow. Raises InvalidProducerEpoch, TransactionCoordinatorFenced."""
        entry = self.producers.get(header.producer_id)
        if entry is None:
            return
        self._check_epoch(entry, header.producer_epoch, offset)
        if entry.coordinator_epoch > marker.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"Invalid coordinator epoch for producerId {header.producer_id} at offset {offset} in partition "
                f"{self.topic_partition}: {marker.coordinator_epoch} (zombie), "
                f"{entry.coordinator_epoch} (current)"
            )

    def _check_epoch(self, entry: ProducerEntry, producer_epoch: int, offset: int) -> None:
        if producer_epoch < entry.producer_epoch:
            raise InvalidProducerEpoch(
                f"Epoch of producer {entry.producer_id} at offset {offset} in {self.topic_partition} is "
                f"{producer_epoch}, which is smaller than the last seen epoch {entry.producer_epoch}"
            )

    def _check_verified(self, producer_id: int, guard: VerificationGuard | None) -> None:
        """A transaction begins only where its coordinator knows of it: what it does not know it would never end."""
        if self.verifications.is_required and not self.verifications.is_guarded_by(producer_id, guard):
            raise InvalidTxnState("Record was not part of an ongoing transaction")

    def _check_lowest_sequence(self, header: BatchHeader, offset: int) -> None:
        """Batches that wait for the same verification begin with the first one that was sent."""
        lowest = self.verifications.lowest_sequence(header.producer_id)
        if lowest is not None and header.base_sequence > lowest:
            raise OutOfOrderSequenceNumber(
                f"Out of order sequence number for producer {header.producer_id} at offset {offset} in partition "
                f"{self.topic_partition}: {header.base_sequence} (incoming seq. number), {lowest} (earliest seen "
                f"sequence)"
            )

    def _check_sequence(self, entry: ProducerEntry, header: BatchHeader, offset: int) -> None:
        sequence = header.base_sequence
        if header.producer_epoch != entry.producer_epoch:
            if sequence != 0 and entry.producer_epoch != NO_EPOCH:
                raise OutOfOrderSequenceNumber(
                    f"Invalid sequence number for new epoch of producer {entry.producer_id} at offset {offset} in "
                    f"partition {self.topic_partition}: {header.producer_epoch} (request epoch), {sequence} "
                    f"(seq. number), {entry.producer_epoch} (current producer epoch)"
                )
            return
        last = entry.last_sequence
        if sequence != (last + 1) & _SEQUENCE_MASK:
            raise OutOfOrderSequenceNumber(
                f"Out of order sequence number for producer {entry.producer_id} at offset {offset} in partition "
                f"{self.topic_partition}: {sequence} (incoming seq. number), {last} (current end sequence number)"
            )

    # After an append

    def update(self, header: BatchHeader, first_offset: int) -> None:
        """Take in a data batch that is now at `first_offset`. Refuses nothing."""
        delta = header.last_offset_delta
        kept = KeptBatch(header.last_sequence, first_offset + delta, delta, header.max_timestamp)
        entry = self.note(header.producer_id, header.producer_epoch, kept)
        if header.attributes & TRANSACTIONAL_BIT:
            self.verifications.end(header.producer_id)
            if entry.current_txn_first_offset < 0:
                entry.current_txn_first_offset = first_offset
                self._open[first_offset] = header.producer_id
                self._unstable[first_offset] = None

    def note(self, producer_id: int, producer_epoch: int, batch: KeptBatch) -> ProducerEntry:
        """Remember a batch as its producer's last one."""
        entry = self._entry_at(producer_id, producer_epoch)
        entry.batches.append(batch)
        entry.last_timestamp = batch.timestamp
        return entry

    def update_marker(
        self, header: BatchHeader, marker: EndTransactionMarker, offset: int
    ) -> CompletedTransaction | None:
        """Take in a transaction marker; the transaction it ended, None when none was open.

        The transaction stays open until `complete`, so that `last_stable_offset_after` can check the others.
        """
        self.verifications.end(header.producer_id)
        entry = self._entry_at(header.producer_id, header.producer_epoch)
        first_offset = entry.current_txn_first_offset
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.current_txn_first_offset = NO_OFFSET
        entry.last_timestamp = header.max_timestamp
        if first_offset < 0:
            return None
        return CompletedTransaction(header.producer_id, first_offset, offset, not marker.is_commit)

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """What the last stable offset becomes once `completed` is replicated: what the aborted index records."""
        for first_offset in self._open:
            if first_offset != completed.first_offset:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> None:
        """Move a transaction from the open ones to those that wait for the high watermark."""
        self._open.pop(completed.first_offset, None)
        self._unreplicated.append(completed)

    def on_high_watermark(self, high_watermark: int) -> None:
        """Forget the ended transactions whose marker is now below the high watermark."""
        while self._unreplicated and self._unreplicated[0].last_offset < high_watermark:
            self._unstable.pop(self._unreplicated.popleft().first_offset, None)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction that is open or not yet replicated; None when there is none."""
        return next(iter(self._unstable), None)

    @property
    def oldest_transaction_ms(self) -> int:
        """When the producer of the oldest open transaction wrote last; -1 without any."""
        if not self._open:
            return -1
        entry = self.producers.get(next(iter(self._open.values())))
        return -1 if entry is None else entry.last_timestamp

    @property
    def has_transactions(self) -> bool:
        return bool(self._unstable)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that were silent for `expiration_ms` and have no open transaction."""
        self.producers = {
            producer_id: entry
            for producer_id, entry in self.producers.items()
            if entry.current_txn_first_offset >= 0 or now_ms - entry.last_timestamp < expiration_ms
        }
        self.verifications.remove_expired(now_ms, expiration_ms)

    # Snapshots

    def snapshot(self) -> Iterator[Row]:
        """What a snapshot at `map_end_offset` holds. A roll takes one on the loop: no object of ours for each."""
        none = KeptBatch(NO_SEQUENCE, NO_OFFSET, 0, -1)
        for entry in self.producers.values():
            last = entry.batches[-1] if entry.batches else none
            yield (
                entry.producer_id,
                entry.producer_epoch,
                last.last_sequence,
                last.last_offset,
                last.offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.current_txn_first_offset,
            )

    def load(self, entries: Iterable[SnapshotEntry], offset: int, now_ms: int, expiration_ms: int) -> None:
        """Replace everything by a snapshot taken at `offset`; producers that expired meanwhile are left out."""
        self.clear(offset)
        opened: list[tuple[int, int]] = []
        for saved in entries:
            entry = ProducerEntry(saved.producer_id)
            entry.producer_epoch = saved.producer_epoch
            entry.coordinator_epoch = saved.coordinator_epoch
            entry.current_txn_first_offset = saved.current_txn_first_offset
            entry.last_timestamp = saved.timestamp
            if saved.last_offset >= 0:
                kept = KeptBatch(saved.last_sequence, saved.last_offset, saved.offset_delta, saved.timestamp)
                entry.batches.append(kept)
            if entry.current_txn_first_offset >= 0:
                opened.append((entry.current_txn_first_offset, entry.producer_id))
            elif now_ms - entry.last_timestamp >= expiration_ms:
                continue
            self.producers[entry.producer_id] = entry
        self._open.update(sorted(opened))
        self._unstable.update(dict.fromkeys(self._open))

    def clear(self, map_end_offset: int) -> None:
        """Know nothing, as of `map_end_offset`."""
        self.producers.clear()
        self._open.clear()
        self._unstable.clear()
        self._unreplicated.clear()
        self.map_end_offset = map_end_offset

    def _entry_at(self, producer_id: int, producer_epoch: int) -> ProducerEntry:
        entry = self.producers.get(producer_id)
        if entry is None:
            entry = self.producers[producer_id] = ProducerEntry(producer_id)
        if entry.producer_epoch != producer_epoch:
            entry.batches.clear()
            entry.producer_epoch = producer_epoch
        return entry
