"""Checks the transaction index and producer snapshots against the batches."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.doctor.checks.batches import OffsetOrder
from kafka_zk.log.doctor.findings import (
    ABORTED_UNFOUNDED,
    ABORTED_UNLISTED,
    INDEX_CORRUPT,
    SNAPSHOT_BEYOND_END,
    SNAPSHOT_CORRUPT,
    SNAPSHOT_MISMATCH,
    SNAPSHOT_OLD,
    Notes,
)
from kafka_zk.log.doctor.partition_files import PartitionFiles, SegmentOnDisk
from kafka_zk.log.files import names, producer_snapshot
from kafka_zk.log.files.producer_snapshot import CorruptSnapshot, SnapshotEntry
from kafka_zk.log.files.transaction_index import AbortedTransaction, CorruptIndex, TransactionIndex
from kafka_zk.log.state.producer_state import ProducerEntry, ProducerState
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.record.batch import Batch, BatchHeader
from kafka_zk.record.control import ControlType, marker_of

FOR_EVER_MS = 1 << 62


class OpenTransaction(NamedTuple):
    """A transaction that the log has no marker of. Its producer wrote last at `last_timestamp_ms`, epoch ms."""

    producer_id: int
    producer_epoch: int
    first_offset: int
    last_timestamp_ms: int


class Producers:
    """Follows the log from its first batch; `largest_id` is that of any producer ever seen, -1 for none."""

    def __init__(self, notes: Notes, files: PartitionFiles, order: OffsetOrder) -> None:
        """Raises OSError. `order` knows whether the log was compacted."""
        self._notes = notes
        self._order = order
        self._files = files
        self._state = ProducerState("")
        self._snapshots = self._read_snapshots()
        self._listed: dict[int, AbortedTransaction] = {}
        self._index = ""
        self._knows_index = False
        self._is_first = True
        self.largest_id = max((entry.producer_id for all in self._snapshots.values() for entry in all), default=-1)

    def begin(self, segment: SegmentOnDisk) -> None:
        """A segment begins: its snapshot must be true, its transaction index is read."""
        base = segment.base_offset
        if self._is_first:
            self._state.load(self._snapshots.get(base, ()), base, 0, FOR_EVER_MS)
            self._is_first = False
        else:
            self._compare(base)
        self._index = segment.name(names.TRANSACTION_INDEX)
        self._knows_index, self._listed = True, {}
        index = TransactionIndex(self._files.path(base, names.TRANSACTION_INDEX), base)
        try:
            index.sanity_check()
            self._listed = {entry.last_offset: entry for entry in index.entries()}
        except CorruptIndex as error:
            self._knows_index = False
            self._notes.add(INDEX_CORRUPT, self._index, str(error))

    def meet(self, header: BatchHeader, batch: Batch | None) -> None:
        """A batch with a producer id; of control batches the bytes, too."""
        if header.producer_id > self.largest_id:
            self.largest_id = header.producer_id
        if not header.is_control:
            self._state.update(header, header.base_offset)
            return
        try:
            marker = marker_of(batch) if batch is not None else None
        except BrokerError:
            # Its records are not checked here; --deep does that.
            return
        if marker is None:
            return
        completed = self._state.update_marker(header, marker, header.last_offset)
        if marker.control_type is ControlType.ABORT:
            self._check_abort(header, None if completed is None else completed.first_offset)
        if completed is not None:
            self._state.complete(completed)
            self._state.on_high_watermark(header.next_offset)

    def end_segment(self) -> None:
        for entry in self._listed.values():
            self._notes.add(ABORTED_UNFOUNDED, self._index, f"there is no abort marker for {_told(entry)}")

    def end(self, end_offset: int, segments: list[SegmentOnDisk]) -> None:
        """The log ends."""
        bases = {segment.base_offset for segment in segments}
        self._compare(end_offset)
        offsets = self._files.of_kind(names.PRODUCER_SNAPSHOT)
        for offset in offsets:
            is_newest_behind = offset == offsets[-1] and offset > max(bases, default=-1)
            if offset > end_offset:
                what = f"is of offset {offset}, but the log ends at {end_offset}"
                self._notes.add(SNAPSHOT_BEYOND_END, _snapshot_name(offset), what)
            elif offset not in bases and not is_newest_behind:
                self._notes.add(SNAPSHOT_OLD, _snapshot_name(offset), "is of an offset where no segment begins")

    def open_transactions(self) -> list[OpenTransaction]:
        """Those open at the end of the log, in the order of their offsets."""
        found = [
            OpenTransaction(
                entry.producer_id, entry.producer_epoch, entry.current_txn_first_offset, entry.last_timestamp
            )
            for entry in self._state.producers.values()
            if entry.current_txn_first_offset >= 0
        ]
        return sorted(found, key=lambda each: each.first_offset)

    def _check_abort(self, header: BatchHeader, first_offset: int | None) -> None:
        if not self._knows_index:
            return
        listed = self._listed.pop(header.last_offset, None)
        if listed is None:
            # Without data of the transaction there is nothing to hide: compaction has taken it.
            if first_offset is not None:
                self._notes.add(
                    ABORTED_UNLISTED,
                    self._index,
                    f"the transaction of producer {header.producer_id} from offset {first_offset}, aborted at "
                    f"{header.last_offset}, is not listed",
                )
        elif listed.producer_id != header.producer_id:
            self._notes.add(
                ABORTED_UNFOUNDED, self._index, f"the abort marker is of producer {header.producer_id}: {_told(listed)}"
            )
        elif first_offset is not None and listed.first_offset > first_offset:
            self._notes.add(
                ABORTED_UNLISTED,
                self._index,
                f"the transaction of producer {header.producer_id} began at {first_offset}: {_told(listed)}",
            )

    def _read_snapshots(self) -> dict[int, list[SnapshotEntry]]:
        found = {}
        for offset in self._files.of_kind(names.PRODUCER_SNAPSHOT):
            path: Path = self._files.path(offset, names.PRODUCER_SNAPSHOT)
            try:
                found[offset] = producer_snapshot.read(path)
            except CorruptSnapshot as error:
                self._notes.add(SNAPSHOT_CORRUPT, path.name, str(error))
        return found

    def _compare(self, offset: int) -> None:
        for entry in self._snapshots.get(offset, ()):
            what = self._difference(entry, offset)
            if what:
                self._notes.add(SNAPSHOT_MISMATCH, _snapshot_name(offset), f"producer {entry.producer_id}: {what}")

    def _difference(self, saved: SnapshotEntry, offset: int) -> str:
        """Producers expire, and compaction drops batches: only what both know can differ, and the log may know less."""
        if saved.last_offset >= offset or saved.current_txn_first_offset >= offset:
            return f"it has offsets beyond {offset}"
        seen: ProducerEntry | None = self._state.producers.get(saved.producer_id)
        if seen is None or seen.producer_epoch != saved.producer_epoch:
            return ""
        if seen.batches and saved.last_offset >= 0:
            seen_offset = seen.batches[-1].last_offset
            if seen_offset < saved.last_offset and self._order.was_compacted:
                return ""
            if seen_offset != saved.last_offset:
                return f"its last batch ends at {saved.last_offset}, but at {seen_offset} in the log"
            if seen.last_sequence != saved.last_sequence:
                return f"its last sequence is {saved.last_sequence}, but {seen.last_sequence} in the log"
        if (seen.current_txn_first_offset >= 0) != (saved.current_txn_first_offset >= 0):
            return (
                f"its transaction began at {saved.current_txn_first_offset}, but "
                f"in the log at {seen.current_txn_first_offset} (-1: none is open)"
            )
        return ""


def _told(entry: AbortedTransaction) -> str:
    return f"producer {entry.producer_id}, offsets {entry.first_offset} to {entry.last_offset}"


def _snapshot_name(offset: int) -> str:
    return names.offset_file_name(offset, names.PRODUCER_SNAPSHOT)
