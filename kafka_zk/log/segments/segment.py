"""LogSegment: the batches of one segment, in its file and its indexes.

Role        Plain; called only by its log, which keeps writers apart. Synchronous until its log gives it a mender.
Invariants  Base offset <= every offset inside < base offset of the next segment.
            A batch gets an index entry only if more than `index_interval_bytes` came since the last one *before* this
            batch; so the first batch of a segment is never indexed. With each entry of the offset index the time index
            gets one, unless it has the largest timestamp so far already. Both lose what a truncation cuts; so the
            last entry of the time index is the largest timestamp up to that of the offset index.
            On roll and close the time index gets a last entry with the largest timestamp, and the indexes are trimmed.
            Nothing is opened before it is needed.
Source      LogSegment: append, translateOffset, read, findOffsetByTimestamp, recover, onBecomeInactiveSegment.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.files.offset_index import OffsetPosition
from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.files.time_index import NO_TIMESTAMP, TimestampOffset
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.log.segments.segment_indexes import BEHIND_ALL_OFFSETS, SegmentIndexes
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.runs import IndexEntry, Indexing, taken_in

log = logging.getLogger("org.apache.kafka.storage.internals.log.LogSegment")

UNKNOWN = -2
"""Below every timestamp, -1 for "none" included."""


NEVER: Final = 1 << 63
"""Above every timestamp."""

SHORT_WALK_BYTES: Final = 128 * 1024
"""So much of a segment is walked on the loop: two milliseconds where batches are small."""


class BatchAt(NamedTuple):
    """A batch of a segment by its header."""

    position: int
    header: BatchHeader


class State(Enum):
    """Whether a segment grows, and whether the timestamps of what it holds are known."""

    FOUND = "complete; its timestamps are still to be read"
    COMPLETE = "complete: the indexes are trimmed and have their last entries"
    CUT = "grows; its timestamps are still to be read"
    GROWING = "grows"


COMPLETE: Final = State.COMPLETE
GROWING: Final = State.GROWING
_KNOWN = {State.FOUND: State.COMPLETE, State.CUT: State.GROWING}
_UNKNOWN = {known: unknown for unknown, known in _KNOWN.items()}
_GROWN = {State.FOUND: State.CUT, State.COMPLETE: State.GROWING}
_COMPLETED = {growing: complete for complete, growing in _GROWN.items()}


class Mender(Protocol):
    """Reads segments while others continue. See IndexMender."""

    mended_count: int

    def mend(self, segment: LogSegment) -> None: ...

    def largest_timestamp(
        self, segment: LogSegment, position: int, known: TimestampOffset
    ) -> TimestampOffset | None: ...


class LogSegment:
    """`first_timestamp` (of the first batch) and `max_timestamp` are -1 for none, and right only after `load_times`.

    Set by its log: `roll_after_timestamp`, the record time up to which age is no reason to roll (UNKNOWN: find out);
    `mender`, for long work (it blocks; None: all is done synchronously). Set by others:
    `is_flushing` while a thread syncs it; `is_tracked` by the owner of the limit on open files.
    """

    __slots__ = (
        "_state",
        "_whole_from_timestamp",
        "base_offset",
        "created_ms",
        "file",
        "first_timestamp",
        "indexes",
        "is_flushing",
        "is_tracked",
        "jitter_ms",
        "max_timestamp",
        "mender",
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
        suffix: str = "",
    ) -> None:
        """`suffix`: that of files in transition (.cleaned, .swap)."""

        self.base_offset = base_offset
        self.file = SegmentFile(directory / names.offset_file_name(base_offset, names.LOG, suffix), size_bytes, disk)
        self.indexes = SegmentIndexes(
            directory,
            base_offset,
            suffix,
            disk,
            max_bytes=config.segment_index_bytes,
            interval_bytes=config.index_interval_bytes,
            are_unchecked=size_bytes > 0,
        )
        self.created_ms = created_ms
        self.jitter_ms = jitter_ms
        self.first_timestamp = NO_TIMESTAMP
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = NO_TIMESTAMP
        self.is_flushing = False
        self.is_tracked = False
        self.mender: Mender | None = None
        self.roll_after_timestamp = UNKNOWN
        self._state = State.FOUND if size_bytes else State.COMPLETE
        # A time index whose last timestamp is at least this lacks no entry from there on.
        self._whole_from_timestamp = NEVER if size_bytes else NO_TIMESTAMP

    @property
    def size_bytes(self) -> int:
        return self.file.size_bytes

    @property
    def is_open(self) -> bool:
        return self.file.is_open or self.indexes.is_open

    @property
    def largest_timestamp(self) -> int:
        """Of any record; the file's modification time where records carry none. Blocks, raises as `load_times`."""
        self.load_times()
        if self.has_gone():
            # While this waited.
            return self.max_timestamp
        return self.max_timestamp if self.max_timestamp >= 0 else int(os.stat(self.file.path).st_mtime * 1000)

    def has_gone(self) -> bool:
        """Whether its log has given it up: its files may be removed, and must not be opened again."""
        return self.file.is_given_up

    @property
    def knows_times(self) -> bool:
        """Whether `load_times` has nothing to do."""
        return self._state is GROWING or self._state is COMPLETE

    def load_times(self) -> None:
        """Learn from the files what an append or a roll must know about the past. Raises CorruptMessage, OSError.

        Blocks if it has a mender and much must be walked. Learns nothing once the segment is removed.
        """
        while not self.knows_times and not self.has_gone():
            if self.indexes.are_being_rebuilt and self.mender is not None:
                self.mender.mend(self)
            elif self._last_entries_agree():
                self._learn_times()
            elif not self.knows_times and not self.has_gone():
                self._rebuild_indexes()

    def _learn_times(self) -> None:
        """Blocks as `load_times`, and learns nothing if the segment changed meanwhile."""
        file, indexes = self.file, self.indexes
        known = indexes.time.last
        if known.timestamp >= self._whole_from_timestamp:
            position = indexes.last.position
        else:
            # An index that a start has found may lack entries, and nothing in it shows that.
            position = indexes.offset.lookup(known.offset).position
        size_bytes, generation = file.size_bytes, file.generation
        if self.mender is None or size_bytes - position <= SHORT_WALK_BYTES:
            for _, header in file.headers(position):
                if header.max_timestamp > known.timestamp:
                    known = TimestampOffset(header.max_timestamp, header.last_offset)
        else:
            try:
                found = self.mender.largest_timestamp(self, position, known)
            except CorruptMessage:
                if file.generation == generation:
                    raise
                found = None  # It was cut under the walk.
            if (
                found is None
                or self.knows_times
                or self.has_gone()
                or indexes.are_being_rebuilt
                or (file.size_bytes, file.generation) != (size_bytes, generation)
            ):
                return
            known = found
        self.max_timestamp, self.offset_of_max_timestamp = known
        self._whole_from_timestamp = known.timestamp
        first = next(file.headers(0), None)
        self.first_timestamp = first[1].max_timestamp if first else NO_TIMESTAMP
        indexes.learn_fullness()
        self._state = _KNOWN.get(self._state, self._state)

    # Growing

    def create_files(self, *, preallocate_bytes: int = 0) -> None:
        """Make an empty segment on disk, with indexes of full length. Raises OSError."""
        self._state = State.GROWING
        self.file.fileno()
        if preallocate_bytes:
            self.file.preallocate(preallocate_bytes)
        self.indexes.make_room()

    def appended(self, size_bytes: int, last_offset: int, max_timestamp: int) -> None:
        """Take in that a batch of `size_bytes` was written behind the last one. Raises OSError."""
        file, indexes = self.file, self.indexes
        position = file.size_bytes
        if not position:
            self.first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if indexes.bytes_since_last_entry > indexes.interval_bytes and not indexes.are_being_rebuilt:
            indexes.add(last_offset, position, self.max_timestamp, self.offset_of_max_timestamp)
        indexes.bytes_since_last_entry += size_bytes
        if self._state is not GROWING:
            self._grow()
        # Last: until then the batch is not part of the segment.
        file.size_bytes = position + size_bytes

    def appended_batches(self, headers: list[BatchHeader]) -> None:
        """Take in batches that were written behind the last one with one write. Raises OSError."""
        position = self.file.size_bytes
        if not position:
            self.first_timestamp = headers[0].max_timestamp
        if not self.indexes.are_being_rebuilt:
            self._take_in_headers(headers, position)
        self.file.size_bytes = position + sum(header.size_bytes for header in headers)
        self._grow()

    def _grow(self) -> None:
        self._state = _GROWN.get(self._state, self._state)

    def restart(self) -> None:
        """Forget what is known of the batches: they are about to be read again, from position 0."""
        self.indexes.reset()
        self._whole_from_timestamp = NEVER
        self.first_timestamp = self.max_timestamp = self.offset_of_max_timestamp = NO_TIMESTAMP
        self._state = _KNOWN.get(self._state, self._state)

    def recovered(self, header: BatchHeader, position: int) -> None:
        """Take in a batch found at `position`; an index entry that finds no space is left out. Raises OSError."""
        if not position:
            self.first_timestamp = header.max_timestamp
        self._take_in_headers([header], position)

    def _take_in_headers(self, headers: list[BatchHeader], position: int) -> None:
        entries: list[IndexEntry] = []
        known, interval_bytes = self.indexing, self.indexes.interval_bytes
        for header in headers:
            size_bytes, max_timestamp = header.size_bytes, header.max_timestamp
            known = taken_in(known, entries, position, size_bytes, header.last_offset, max_timestamp, interval_bytes)
            position += size_bytes
        self.take_in(entries, known)

    @property
    def indexing(self) -> Indexing:
        """What the next index entry depends on."""
        return Indexing(self.max_timestamp, self.offset_of_max_timestamp, self.indexes.bytes_since_last_entry)

    def take_in(self, entries: list[IndexEntry], indexing: Indexing) -> None:
        """Batches were found or written that give these entries; those without space are left out. Raises OSError."""
        self.max_timestamp, self.offset_of_max_timestamp, self.indexes.bytes_since_last_entry = indexing
        if entries:
            self.indexes.extend(entries)

    def become_inactive(self) -> bool:
        """Complete the indexes and trim all files; whether that must be synced. Blocks as `load_times`. Raises OSError.

        The indexes of an empty segment need no sync. A trimmed log file does, or a power failure brings its zeros back.
        """
        self.load_times()
        if self.has_gone():
            return False
        self.indexes.complete(self.max_timestamp, self.offset_of_max_timestamp)
        had_room = self.file.trim()
        self._state = _COMPLETED.get(self._state, self._state)
        return had_room or self.size_bytes > 0

    def finish(self) -> bool:
        """Become inactive unless the segment is already; whether something must be synced. Raises OSError."""
        return self._state in _COMPLETED and self.become_inactive()

    def is_complete(self) -> bool:
        """Whether the files look as `become_inactive` left them: trimmed, and the last entries written.

        After a power failure they may be longer, or have zeros in place of entries. Raises OSError.
        """
        if not self.size_bytes:
            return True
        if not self.indexes.are_trimmed():
            return False
        end, last = 0, self.indexes.last.position
        try:
            for position, header in self.file.headers(last) if last >= 0 else ():
                end = position + header.size_bytes
        except CorruptMessage:
            return False
        return end == self.size_bytes

    # Looking up

    def position_of(self, offset: int, from_position: int = 0) -> BatchAt | None:
        """The first batch whose last offset is >= `offset`; None when there is none. Raises CorruptMessage, OSError."""
        indexes = self.indexes
        if indexes.are_being_rebuilt and self.mender is not None:
            self.mender.mend(self)
            if self.file.is_given_up:
                return None
        entry = indexes.offset.lookup(offset)
        if entry.position and indexes.are_unchecked and not self._is_right(entry):
            self._rebuild_indexes()
            if self.file.is_given_up:
                return None
            entry = indexes.offset.lookup(offset)
        found = self.file.first_reaching(max(entry.position, from_position), offset)
        return None if found is None else BatchAt(found[0], found[1])

    def offset_behind(self, position: int, size_bytes: int) -> int | None:
        """An offset just above all batches that begin in these bytes; None if no index entry shows it. OSError."""
        entry = self.indexes.offset.upper_bound(position, size_bytes)
        if entry is None or (self.indexes.are_unchecked and not self._is_right(entry)):
            return None
        return entry.offset

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
        """Whether the indexes, as a start has found them, end as the log does. Raises CorruptMessage, OSError.

        Also False if they were rebuilt meanwhile, or the segment was removed.
        """
        indexes = self.indexes
        if not indexes.may_be_right():
            return False
        last = indexes.last
        if last.position and (self.position_of(last.offset) is None or self.knows_times):
            return False
        known = indexes.time.last
        agrees = self._agrees(known, self.position_of(known.offset))
        return agrees and not self.knows_times and not self.has_gone()

    def _agrees(self, known: TimestampOffset, found: BatchAt | None) -> bool:
        """Whether an entry of the time index is right: the batch found to hold its offset has its timestamp."""
        if known.timestamp == NO_TIMESTAMP and known.offset == self.base_offset:
            return True
        return found is not None and found.header.max_timestamp == known.timestamp

    def _rebuild_indexes(self) -> None:
        """Rebuild both indexes from the headers, whatever is in them. Raises CorruptMessage, OSError."""
        if self.mender is not None:
            self.mender.mend(self)
            return
        log.warning("Found an index that does not agree with %s, rebuilding index files...", self.file.path)
        self.forget_indexes()
        for position, header in self.file.headers(0):
            self.recovered(header, position)
        self.indexes_are_rebuilt(self.first_timestamp)

    def forget_indexes(self) -> None:
        """Begin to rebuild them: the caller takes in all batches, then calls `indexes_are_rebuilt`."""
        self.restart()
        self._state = _UNKNOWN.get(self._state, self._state)

    def indexes_are_rebuilt(self, first_timestamp: int) -> None:
        """Raises OSError."""
        self.first_timestamp = first_timestamp
        self._whole_from_timestamp = NO_TIMESTAMP
        # They match the batches: where a batch has a damaged offset, another rebuild would change nothing.
        self.indexes.are_unchecked = False
        self._state = _KNOWN.get(self._state, self._state)
        if self._state is COMPLETE:
            # Not the file: a thread may be writing behind its end.
            self.indexes.complete(self.max_timestamp, self.offset_of_max_timestamp)

    def forget_times(self) -> None:
        """A rebuild failed: what was appended meanwhile is in no index, and its timestamps were not noted."""
        self._whole_from_timestamp = NEVER
        self.roll_after_timestamp = UNKNOWN
        self._state = _UNKNOWN.get(self._state, self._state)

    def next_offset(self) -> int:
        """The offset behind the last whole batch, found from the last index entry. Raises CorruptMessage, OSError."""
        offset = self.base_offset
        self.position_of(BEHIND_ALL_OFFSETS)  # Checks the last entry, and repairs it.
        for _, header in self.file.headers(self.indexes.last.position):
            offset = header.next_offset
        return offset

    def batches_from_time(self, timestamp: int, starting_offset: int) -> Iterator[BatchAt]:
        """All batches from the first on that may hold a record of `timestamp` or later, at or behind an offset.

        Blocks as `position_of`; the caller may block between two of them. Ends if the segment is removed or truncated
        meanwhile. Raises CorruptMessage, OSError.
        """
        if self.has_gone():
            return
        known = self.indexes.time.lookup(timestamp)
        first = self.position_of(known.offset)
        if self.has_gone():
            return
        if not self._agrees(known, first):
            self._rebuild_indexes()
            if self.has_gone():
                return
            known = self.indexes.time.lookup(timestamp)
            first = self.position_of(known.offset)
        if known.offset < starting_offset:
            first = self.position_of(starting_offset)
        if first is None:
            return
        headers, generation = self.file.headers(first.position), self.file.generation
        while not self.has_gone() and self.file.generation == generation:
            found = next(headers, None)
            if found is None:
                return
            yield BatchAt(*found)

    # Shrinking and closing

    def truncate_to(self, offset: int) -> int:
        """Cut at the first batch that reaches `offset`: whole batches only. Returns the bytes cut. Raises OSError.

        Source: LogSegment.truncateTo.
        """
        found = self.position_of(offset)
        before = self.size_bytes
        self._cut(before if found is None else found.position, offset)
        return before - self.size_bytes

    def take_back(self, size_bytes: int, offset: int) -> None:
        """Undo an append that failed half way: the segment had `size_bytes` before it, and ended before `offset`.

        Looks at no entry, so it waits for nothing. Raises OSError.
        """
        self._cut(size_bytes, offset)
        self.file.trim()

    def _cut(self, size_bytes: int, offset: int) -> None:
        self.indexes.truncate_to(offset)
        self._state = State.CUT
        if size_bytes < self.size_bytes:
            self.file.truncate(size_bytes)
        self.first_timestamp = NO_TIMESTAMP
        self.roll_after_timestamp = UNKNOWN
        if not self.size_bytes:
            self.max_timestamp, self.offset_of_max_timestamp = NO_TIMESTAMP, NO_TIMESTAMP
            self._whole_from_timestamp = NO_TIMESTAMP
            self._state = State.GROWING

    def flush(self) -> None:
        """fsync everything; a pool thread may run it. Raises OSError."""
        self.file.flush()
        self.indexes.flush()

    def close(self) -> None:
        """Complete and trim the files and give them back; slices in flight keep theirs. Raises OSError."""
        self.finish()
        self.close_files()

    def close_files(self) -> None:
        """Release everything unchanged, for a failed directory or removed files."""
        self.indexes.close()
        self.file.close()

    def close_if_idle(self) -> bool:
        """Give descriptors back until they are needed again; whether that was possible."""
        if self.is_flushing or not self.file.close_if_idle():
            return False
        self.indexes.close()
        return True

    def moved_to(self, directory: Path) -> None:
        """The partition's directory has a new name."""
        self.file.path = directory / self.file.path.name
        self.indexes.moved_to(directory)

    def paths(self) -> list[Path]:
        return [self.file.path, *self.indexes.paths()]

    def aborted_transactions(self) -> list[AbortedTransaction]:
        return self.indexes.transaction.entries()

    def __repr__(self) -> str:
        return f"segment {self.base_offset} size={self.size_bytes} max_timestamp={self.max_timestamp}"
