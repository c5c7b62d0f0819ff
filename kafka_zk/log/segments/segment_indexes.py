"""SegmentIndexes: the offset, time and transaction index of one segment.

Role        Plain and synchronous. Knows entries and files; what batches the segment holds, LogSegment knows.
Invariants  An index file is opened, or looked for on disk, only when it is first needed.
            While the offset and time index are rebuilt by a mender, appends add no entries to them: the mender reads
            the appended batches at the end.
Source      LogSegment's lazyOffsetIndex, lazyTimeIndex and txnIndex.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from pathlib import Path

from kafka_zk.log.files import names, time_index
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.offset_index import OffsetIndex, OffsetPosition
from kafka_zk.log.files.time_index import TimeIndex, TimestampOffset
from kafka_zk.log.files.transaction_index import TransactionIndex
from kafka_zk.record.runs import IndexEntry

BEHIND_ALL_OFFSETS = 1 << 62


class SegmentIndexes:
    """`interval_bytes`: at least so many bytes lie between two entries; `bytes_since_last_entry` came since the last.

    `are_full`: the next entry would find no space. `are_unchecked`: they were found by a start, and may be wrong.
    `are_being_rebuilt`: a mender is running.
    """

    __slots__ = (
        "_base_offset",
        "_directory",
        "_disk",
        "_max_bytes",
        "_offset",
        "_suffix",
        "_time",
        "_transaction",
        "are_being_rebuilt",
        "are_full",
        "are_unchecked",
        "bytes_since_last_entry",
        "interval_bytes",
    )

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        suffix: str,
        disk: Disk,
        *,
        max_bytes: int,
        interval_bytes: int,
        are_unchecked: bool,
    ) -> None:
        self._directory = directory
        self._base_offset = base_offset
        self._suffix = suffix
        self._disk = disk
        self._max_bytes = max_bytes
        self._offset: OffsetIndex | None = None
        self._time: TimeIndex | None = None
        self._transaction: TransactionIndex | None = None
        self.interval_bytes = interval_bytes
        self.bytes_since_last_entry = 0
        # segment.index.bytes may leave no space for any entry: the time index keeps one slot free.
        self.are_full = max_bytes < 2 * time_index.ENTRY_SIZE_BYTES
        self.are_unchecked = are_unchecked
        self.are_being_rebuilt = False

    @property
    def offset(self) -> OffsetIndex:
        index = self._offset
        if index is None:
            path = self._path(names.OFFSET_INDEX)
            index = self._offset = OffsetIndex(path, self._base_offset, self._max_bytes, self._disk)
            if not self.are_unchecked:
                # The segment was empty. A power failure may bring back the zeros of an index that was trimmed.
                index.file.entry_count = 0
        return index

    @property
    def time(self) -> TimeIndex:
        index = self._time
        if index is None:
            path = self._path(names.TIME_INDEX)
            index = self._time = TimeIndex(path, self._base_offset, self._max_bytes, self._disk)
            if not self.are_unchecked:
                index.file.entry_count = 0
        return index

    @property
    def transaction(self) -> TransactionIndex:
        index = self._transaction
        if index is None:
            path = self._path(names.TRANSACTION_INDEX)
            index = self._transaction = TransactionIndex(path, self._base_offset, self._disk)
        return index

    def _path(self, kind: str) -> Path:
        return self._directory / names.offset_file_name(self._base_offset, kind, self._suffix)

    @property
    def last(self) -> OffsetPosition:
        """The last entry of the offset index; (base offset, 0) when there is none. Raises OSError."""
        return self.offset.lookup(BEHIND_ALL_OFFSETS)

    @property
    def is_open(self) -> bool:
        offset, time = self._offset, self._time
        return (offset is not None and offset.file.is_open) or (time is not None and time.file.is_open)

    def may_be_right(self) -> bool:
        """Whether both files look like indexes of ours, by their lengths and last entries. Raises OSError."""
        return self.offset.file.may_be_right() and self.time.file.may_be_right()

    def are_trimmed(self) -> bool:
        """Whether both files end with their last entry. Raises OSError."""
        return self.offset.file.is_whole() and self.time.file.is_whole()

    # Growing

    def add(self, last_offset: int, position: int, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        """An entry for the batch at `position`, which ends with `last_offset`. Raises OSError."""
        offset, time = self.offset, self.time
        offset.append(last_offset, position)
        time.maybe_append(max_timestamp, offset_of_max_timestamp)
        self.bytes_since_last_entry = 0
        self.are_full = offset.is_full or time.is_full

    def extend(self, entries: list[IndexEntry]) -> None:
        """Several entries; those that find no space are left out. Raises OSError."""
        offset, time = self.offset, self.time
        last_timestamp, offset_room, time_room = time.last.timestamp, offset.room, time.room
        positions: list[OffsetPosition] = []
        times: list[TimestampOffset] = []
        for last_offset, position, timestamp, offset_of_timestamp in entries:
            if len(positions) >= offset_room or len(times) >= time_room:
                break
            positions.append(OffsetPosition(last_offset, position))
            if timestamp > last_timestamp:
                times.append(TimestampOffset(timestamp, offset_of_timestamp))
                last_timestamp = timestamp
        offset.extend(positions)
        time.extend(times)
        self.learn_fullness()

    def learn_fullness(self) -> None:
        """Set `are_full`."""
        self.are_full = self.offset.is_full or self.time.is_full

    def complete(self, max_timestamp: int, offset_of_max_timestamp: int) -> None:
        """Nothing more comes: add the last time entry and trim the files. Raises OSError."""
        self.time.maybe_append(max_timestamp, offset_of_max_timestamp, skip_full_check=True)
        self.offset.file.trim()
        self.time.file.trim()
        self.learn_fullness()

    def make_room(self) -> None:
        """Give both files their full length, so that entries can follow. Raises OSError."""
        self.offset.file.make_room()
        self.time.file.make_room()

    # Shrinking and closing

    def truncate_to(self, offset: int) -> None:
        """Drop all entries at or after `offset`; new ones can follow. Raises OSError."""
        self.offset.truncate_to(offset)
        self.time.truncate_to(offset)
        self.transaction.truncate_to(offset)
        self.make_room()
        self.learn_fullness()
        self.bytes_since_last_entry = 0

    def reset(self) -> None:
        """Drop all entries of the offset and time index: each batch is about to be read again."""
        self.offset.reset()
        self.time.reset()
        self.learn_fullness()
        self.bytes_since_last_entry = 0

    def flush(self) -> None:
        """fsync what was used; a pool thread may run it. Raises OSError."""
        # An index that was never looked for was not changed, and must not be looked for from a thread.
        if self._offset is not None:
            self._offset.file.flush()
        if self._time is not None:
            self._time.file.flush()
        if self._transaction is not None:
            self._transaction.flush()

    def close(self) -> None:
        """Give the descriptors back; the next use opens the files again."""
        if self._offset is not None:
            self._offset.file.close()
        if self._time is not None:
            self._time.file.close()

    def moved_to(self, directory: Path) -> None:
        """The partition's directory has a new name."""
        self._directory = directory
        if self._offset is not None:
            self._offset.file.path = directory / self._offset.file.path.name
        if self._time is not None:
            self._time.file.path = directory / self._time.file.path.name
        if self._transaction is not None:
            self._transaction.path = directory / self._transaction.path.name

    def paths(self) -> list[Path]:
        """Of the offset, time and transaction index."""
        return [self.offset.file.path, self.time.file.path, self.transaction.path]
