"""LogSegment: one segment's file and its three indexes.

Role        Plain and synchronous; called only by its log, which keeps writers apart.
Invariants  Base offset <= every offset inside < base offset of the next segment.
            A batch gets an index entry only if more than `index_interval_bytes` came since the last one *before* this
            batch; so the first batch of a segment is never indexed.
            On roll and close the time index gets a last entry with the largest timestamp, and the indexes are trimmed.
            Nothing is opened, nor are the indexes looked for, before it is needed.
Source      LogSegment: append, translateOffset, read, findOffsetByTimestamp, recover, onBecomeInactiveSegment.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.files.offset_index import OffsetIndex, OffsetPosition
from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.files.time_index import NO_TIMESTAMP, TimeIndex, TimestampOffset
from kafka_zk.log.files.transaction_index import AbortedTransaction, TransactionIndex
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.runs import IndexEntry, Indexing, taken_in

log = logging.getLogger("org.apache.kafka.storage.internals.log.LogSegment")

UNKNOWN = -2
"""Below every timestamp, -1 for "none" included."""


class BatchAt(NamedTuple):
    """A batch of a segment by its header."""

    position: int
    header: BatchHeader


class LogSegment:
    """`first_timestamp` (of the first batch) and `max_timestamp` are -1 for none, and right only after `load_times`.

    For its log: `roll_after_timestamp`, the record time up to which age is no reason to roll (UNKNOWN: find out);
    `mend`: what makes wrong indexes again while others go on (it blocks; None: we do it, here and now), and
    `is_being_mended` meanwhile; `indexes_full`; `is_flushing` while a thread syncs it; `is_tracked` by those who close
    idle files.
    """

    __slots__ = (
        "_directory",
        "_disk",
        "_index_bytes",
        "_is_finished",
        "_offset_index",
        "_state",
        "_time_index",
        "_times_loaded",
        "_transaction_index",
        "_was_empty",
        "base_offset",
        "bytes_since_last_index_entry",
        "created_ms",
        "file",
        "first_timestamp",
        "index_interval_bytes",
        "indexes_full",
        "is_being_mended",
        "is_flushing",
        "is_tracked",
        "jitter_ms",
        "max_timestamp",
        "mend",
        "offset_of_max_timestamp",
        "roll_after_timestamp",
    )

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        config: LogConfig,
        *,
        size_bytes: int = 0,
        created_ms: int,
        jitter_ms: int = 0,
        disk: Disk = DISK,
        state: str = "",
    ) -> None:
        """`state` is the suffix of files in transition (.cleaned, .swap)."""

        self.base_offset = base_offset
        self._directory = directory
        self._state = state
        self._disk = disk
        self._index_bytes = config.segment_index_bytes
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._transaction_index: TransactionIndex | None = None
        self.file = SegmentFile(self._path(names.LOG), size_bytes, disk)
        self.index_interval_bytes = config.index_interval_bytes
        self.bytes_since_last_index_entry = 0
        self.created_ms = created_ms
        self.jitter_ms = jitter_ms
        self.first_timestamp = NO_TIMESTAMP
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = NO_TIMESTAMP
        self.is_flushing = False
        self.is_tracked = False
        self.is_being_mended = False
        self.mend: Callable[[LogSegment], None] | None = None
        self.indexes_full = False
        self.roll_after_timestamp = UNKNOWN
        self._times_loaded = size_bytes == 0
        self._is_finished = True
        self._was_empty = size_bytes == 0

    @property
    def offset_index(self) -> OffsetIndex:
        index = self._offset_index
        if index is None:
            path = self._path(names.OFFSET_INDEX)
            index = self._offset_index = OffsetIndex(path, self.base_offset, self._index_bytes, self._disk)
            if self._was_empty:
                # A power cut may bring back the room of an index that a clean stop had trimmed.
                index.file.entry_count = 0
        return index

    @property
    def time_index(self) -> TimeIndex:
        index = self._time_index
        if index is None:
            path = self._path(names.TIME_INDEX)
            index = self._time_index = TimeIndex(path, self.base_offset, self._index_bytes, self._disk)
            if self._was_empty:
                index.file.entry_count = 0
        return index

    @property
    def transaction_index(self) -> TransactionIndex:
        index = self._transaction_index
        if index is None:
            path = self._path(names.TRANSACTION_INDEX)
            index = self._transaction_index = TransactionIndex(path, self.base_offset, self._disk)
        return index

    def _path(self, kind: str) -> Path:
        return self._directory / names.offset_file_name(self.base_offset, kind, self._state)

    @property
    def size_bytes(self) -> int:
        return self.file.size_bytes

    @property
    def is_open(self) -> bool:
        offset_index, time_index = self._offset_index, self._time_index
        return (
            self.file.is_open
            or (offset_index is not None and offset_index.file.is_open)
            or (time_index is not None and time_index.file.is_open)
        )

    @property
    def largest_timestamp(self) -> int:
        """Of any record; the file's modification time where records carry none. Raises OSError."""
        self.load_times()
        if self.has_gone():
            # While its indexes were made again.
            return self.max_timestamp
        return self.max_timestamp if self.max_timestamp >= 0 else int(os.stat(self.file.path).st_mtime * 1000)

    def has_gone(self) -> bool:
        """Whether the log has let go of it: its files may be removed, and must not be opened again."""
        return self.file.is_given_up

    def load_times(self) -> None:
        """Learn from the files what an append or a roll must know about the past. Raises OSError."""
        if self._times_loaded:
            return
        is_right = self._last_entries_agree()
        if self.has_gone():
            return
        if not is_right:
            self._rebuild_indexes()
            return
        known = self.time_index.last
        self.max_timestamp, self.offset_of_max_timestamp = known
        # Behind the last entry a larger one may stand, where a truncation or a crash took the entry.
        for _, header in self.file.headers(self.offset_index.lookup(known.offset).position):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.offset_of_max_timestamp = header.max_timestamp, header.last_offset
        first = next(self.file.headers(0), None)
        self.first_timestamp = first[1].max_timestamp if first else NO_TIMESTAMP
        self.indexes_full = self.offset_index.is_full or self.time_index.is_full
        self._times_loaded = True

    # Growing

    def create_files(self, *, preallocate_bytes: int = 0) -> None:
        """Make an empty segment on disk, its indexes with all their room. Raises OSError."""
        self._is_finished = False
        self.file.fileno()
        if preallocate_bytes:
            self.file.preallocate(preallocate_bytes)
        self.offset_index.file.make_room()
        self.time_index.file.make_room()

    def appended(self, size_bytes: int, last_offset: int, max_timestamp: int) -> None:
        """Take in that a batch of `size_bytes` was written behind the last one. Raises OSError."""
        file = self.file
        position = file.size_bytes
        if not position:
            self.first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if self.bytes_since_last_index_entry > self.index_interval_bytes and not self.is_being_mended:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
            self.bytes_since_last_index_entry = 0
            self.indexes_full = self.offset_index.is_full or self.time_index.is_full
        self.bytes_since_last_index_entry += size_bytes
        self._is_finished = False
        # Last: what is taken back was never there.
        file.size_bytes = position + size_bytes

    def appended_batches(self, headers: list[BatchHeader]) -> None:
        """Take in batches that were written behind the last one with one write. Raises OSError."""
        position = self.file.size_bytes
        if not position:
            self.first_timestamp = headers[0].max_timestamp
        if not self.is_being_mended:
            self._take_in_headers(headers, position)
        self.file.size_bytes = position + sum(header.size_bytes for header in headers)
        self._is_finished = False

    def restart(self) -> None:
        """Forget what is known of the batches: they are about to be read again, from position 0."""
        self.first_timestamp = self.max_timestamp = self.offset_of_max_timestamp = NO_TIMESTAMP
        self.bytes_since_last_index_entry = 0
        self.indexes_full = False
        self._times_loaded = True

    def recovered(self, header: BatchHeader, position: int) -> None:
        """Take in a batch found at `position`; an index entry that finds no room is left out. Raises OSError."""
        if not position:
            self.first_timestamp = header.max_timestamp
        self._take_in_headers([header], position)

    def _take_in_headers(self, headers: list[BatchHeader], position: int) -> None:
        entries: list[IndexEntry] = []
        known, interval_bytes = self.indexing, self.index_interval_bytes
        for header in headers:
            size_bytes, max_timestamp = header.size_bytes, header.max_timestamp
            known = taken_in(known, entries, position, size_bytes, header.last_offset, max_timestamp, interval_bytes)
            position += size_bytes
        self.take_in(entries, known)

    @property
    def indexing(self) -> Indexing:
        """What the next index entry depends on."""
        return Indexing(self.max_timestamp, self.offset_of_max_timestamp, self.bytes_since_last_index_entry)

    def take_in(self, entries: list[IndexEntry], indexing: Indexing) -> None:
        """Batches were found or written that give these entries; those without room are left out. Raises OSError."""
        self.max_timestamp, self.offset_of_max_timestamp, self.bytes_since_last_index_entry = indexing
        if not entries:
            return
        offset_index, time_index = self.offset_index, self.time_index
        last_timestamp, offset_room, time_room = time_index.last.timestamp, offset_index.room, time_index.room
        positions: list[OffsetPosition] = []
        times: list[TimestampOffset] = []
        for last_offset, position, timestamp, offset_of_timestamp in entries:
            if len(positions) >= offset_room or len(times) >= time_room:
                break
            positions.append(OffsetPosition(last_offset, position))
            if timestamp > last_timestamp:
                times.append(TimestampOffset(timestamp, offset_of_timestamp))
                last_timestamp = timestamp
        offset_index.extend(positions)
        time_index.extend(times)
        self.indexes_full = offset_index.is_full or time_index.is_full

    def become_inactive(self) -> bool:
        """Complete the indexes and give back the room nobody will use; whether that must be synced. Raises OSError.

        The indexes of an empty segment need not be. Its room must, or a power cut brings the zeros back.
        """
        self.load_times()
        self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp, skip_full_check=True)
        self.offset_index.file.trim()
        self.time_index.file.trim()
        had_room = self.file.trim()
        self.indexes_full = self.offset_index.is_full or self.time_index.is_full
        self._is_finished = True
        return had_room or self.size_bytes > 0

    def finish(self) -> bool:
        """Become inactive unless the segment is already; whether something must be synced. Raises OSError."""
        return not self._is_finished and self.become_inactive()

    def is_complete(self) -> bool:
        """Whether the files look as `become_inactive` left them: trimmed, and the last entries written.

        What a power cut takes of that leaves room behind, or zeros in their place. Raises OSError.
        """
        if not self.size_bytes:
            return True
        if not (self.offset_index.file.is_whole() and self.time_index.file.is_whole()):
            return False
        end, last = 0, self.offset_index.lookup(1 << 62).position
        try:
            for position, header in self.file.headers(last) if last >= 0 else ():
                end = position + header.size_bytes
        except CorruptMessage:
            return False
        return end == self.size_bytes

    # Looking up

    def position_of(self, offset: int, from_position: int = 0) -> BatchAt | None:
        """The first batch whose last offset is >= `offset`; None when there is none. Raises CorruptMessage, OSError."""
        if self.is_being_mended and self.mend is not None:
            self.mend(self)
            if self.file.is_given_up:
                return None
        entry = self.offset_index.lookup(offset)
        # An index that a start has found was never checked.
        if entry.position and not self._was_empty and not self._is_right(entry):
            self._rebuild_indexes()
            if self.file.is_given_up:
                return None
            entry = self.offset_index.lookup(offset)
        found = self.file.first_reaching(max(entry.position, from_position), offset)
        return None if found is None else BatchAt(found[0], found[1])

    def _is_right(self, entry: OffsetPosition) -> bool:
        """Whether a batch begins at the entry's position, and not behind its offset. Raises OSError."""
        if not 0 < entry.position < self.size_bytes:
            return False
        try:
            first = next(self.file.headers(entry.position), None)
        except CorruptMessage:
            return False
        return first is not None and self.base_offset <= first[1].base_offset <= entry.offset

    def _last_entries_agree(self) -> bool:
        """Whether the indexes, as a start has found them, end as the log does. Raises CorruptMessage, OSError."""
        if not (self.offset_index.file.may_be_right() and self.time_index.file.may_be_right()):
            return False
        self.position_of(1 << 62)  # Looks at the last entry.
        if self.has_gone():
            return False
        last, end = self.offset_index.lookup(1 << 62), self.base_offset
        for _, header in self.file.headers(last.position):
            end = header.next_offset
        if last.position and last.offset >= end:
            return False
        known = self.time_index.last
        return self._agrees(known, self.position_of(known.offset))

    def _agrees(self, known: TimestampOffset, found: BatchAt | None) -> bool:
        """Whether an entry of the time index is right: the batch found to hold its offset has its timestamp."""
        if known.timestamp == NO_TIMESTAMP and known.offset == self.base_offset:
            return True
        return found is not None and found.header.max_timestamp == known.timestamp

    def _rebuild_indexes(self) -> None:
        """Make both indexes again from the headers, whatever is in them. Raises CorruptMessage, OSError."""
        if self.mend is not None:
            self.mend(self)
            return
        log.warning("Found an index that does not agree with %s, rebuilding index files...", self.file.path)
        self.forget_indexes()
        for position, header in self.file.headers(0):
            self.recovered(header, position)
        self.indexes_are_rebuilt(self.first_timestamp)

    def forget_indexes(self) -> None:
        """Whoever makes them again takes in all batches, then says so."""
        self.offset_index.reset()
        self.time_index.reset()
        self.restart()
        self._times_loaded = False

    def indexes_are_rebuilt(self, first_timestamp: int) -> None:
        """Raises OSError."""
        self.first_timestamp = first_timestamp
        self._times_loaded = True
        if self._is_finished:
            self.become_inactive()

    def next_offset(self) -> int:
        """The offset behind the last whole batch, found from the last index entry. Raises CorruptMessage, OSError."""
        offset = self.base_offset
        self.position_of(1 << 62)  # Looks at the last entry, and mends it.
        for _, header in self.file.headers(self.offset_index.lookup(1 << 62).position):
            offset = header.next_offset
        return offset

    def batches_at_or_after_time(self, timestamp: int, starting_offset: int) -> Iterator[BatchAt]:
        """The batches that may hold a record of `timestamp` or later, at or behind an offset; oldest first."""
        if self.has_gone():
            return
        known = self.time_index.lookup(timestamp)
        first = self.position_of(known.offset)
        if self.has_gone():
            return
        if not self._agrees(known, first):
            self._rebuild_indexes()
            if self.has_gone():
                return
            known = self.time_index.lookup(timestamp)
            first = self.position_of(known.offset)
        if known.offset < starting_offset:
            first = self.position_of(starting_offset)
        if first is None:
            return
        for found in self.file.headers(first.position):
            if found[1].max_timestamp >= timestamp and found[1].last_offset >= starting_offset:
                yield BatchAt(*found)

    # Shrinking and closing

    def truncate_to(self, offset: int) -> int:
        """Cut at the first batch that reaches `offset`: whole batches only. The bytes that went. Raises OSError.

        Source: LogSegment.truncateTo.
        """
        found = self.position_of(offset)
        before = self.size_bytes
        self._cut(before if found is None else found.position, offset)
        return before - self.size_bytes

    def take_back(self, size_bytes: int, offset: int) -> None:
        """Undo an append that was not taken in whole: the segment had `size_bytes` then, and ended before `offset`.

        Looks at no entry, so it waits for nothing. Raises OSError.
        """
        self._cut(size_bytes, offset)
        self.file.trim()

    def _cut(self, size_bytes: int, offset: int) -> None:
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self.offset_index.file.make_room()
        self.time_index.file.make_room()
        self._is_finished = False
        if size_bytes < self.size_bytes:
            self.file.truncate(size_bytes)
        self._times_loaded = False
        self.first_timestamp = NO_TIMESTAMP
        self.indexes_full = False
        self.roll_after_timestamp = UNKNOWN
        if not self.size_bytes:
            self.max_timestamp, self.offset_of_max_timestamp = NO_TIMESTAMP, NO_TIMESTAMP
            self._times_loaded = True
        self.bytes_since_last_index_entry = 0

    def flush(self) -> None:
        """fsync everything; a pool thread may run it. Raises OSError."""
        self.file.flush()
        # An index that nobody has looked for has not been changed, and must not be looked for from a thread.
        if self._offset_index is not None:
            self._offset_index.file.flush()
        if self._time_index is not None:
            self._time_index.file.flush()
        if self._transaction_index is not None:
            self._transaction_index.flush()

    def close(self) -> None:
        """Complete and trim the files and give them back; slices in flight keep theirs. Raises OSError."""
        self.finish()
        self.close_files()

    def close_files(self) -> None:
        """Give everything back as it is, for a directory that failed or files that go away."""
        self._close_indexes()
        self.file.close()

    def close_if_idle(self) -> bool:
        """Give descriptors back until they are needed again; whether that was possible."""
        if self.is_flushing or not self.file.close_if_idle():
            return False
        self._close_indexes()
        return True

    def _close_indexes(self) -> None:
        if self._offset_index is not None:
            self._offset_index.file.close()
        if self._time_index is not None:
            self._time_index.file.close()

    def moved_to(self, directory: Path) -> None:
        """The partition's directory has a new name."""
        self._directory = directory
        self.file.path = directory / self.file.path.name
        if self._offset_index is not None:
            self._offset_index.file.path = directory / self._offset_index.file.path.name
        if self._time_index is not None:
            self._time_index.file.path = directory / self._time_index.file.path.name
        if self._transaction_index is not None:
            self._transaction_index.path = directory / self._transaction_index.path.name

    def paths(self) -> list[Path]:
        return [self.file.path, self.offset_index.file.path, self.time_index.file.path, self.transaction_index.path]

    def aborted_transactions(self) -> list[AbortedTransaction]:
        return self.transaction_index.entries()

    def __repr__(self) -> str:
        return f"segment {self.base_offset} size={self.size_bytes} max_timestamp={self.max_timestamp}"
