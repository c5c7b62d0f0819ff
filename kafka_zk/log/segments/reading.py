"""LogReader: looks up offsets and times in a log, and returns slices of it.

Role        Plain; called by its log only. Never copies a record on its way to a fetcher.
Invariants  A slice begins at a batch and ends at or before the batch that holds `up_to`; in between it may end inside a
            batch when the byte limit says so (fetchers drop such a rest).
            Positions of a few offsets are remembered, so a fetch at the end of the log needs neither index nor scan;
            a truncation forgets them. A look-up by offset does not continue after waiting for an index: it raises
            LookAgain, for its arguments and what it found may be out of date.
Source      LocalLog.read, LogSegment.read, UnifiedLog.fetchOffsetByTimestamp, collectAbortedTransactions.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafka_zk.giving_way import in_slices
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.log.segments.segment import BatchAt, LogSegment, Mender
from kafka_zk.log.segments.segment_list import Segments
from kafka_zk.log.segments.slice import WARM_BYTES, FileSlice
from kafka_zk.record.batch import HEADER_SIZE_UP_TO_MAGIC, Batch, batch_size
from kafka_zk.record.record import times_of

REMEMBERED_POSITIONS = 32

Place = tuple[LogSegment, int, int]
"""Where a batch lies: segment, position, and the size of the batch; 0 if not read yet."""


Times = Callable[[Batch], Iterator[tuple[int, int]]]
"""See `times_of`, which it is or calls."""


class ReadResult(NamedTuple):
    """Slices of one read; `size_bytes` of all together. Every slice must be released."""

    slices: list[FileSlice]
    size_bytes: int
    find_aborted: Callable[[], list[AbortedTransaction]] | None = None

    def aborted_transactions(self) -> list[AbortedTransaction]:
        """The aborted transactions that may have records in the slices. Raises OSError."""
        return self.find_aborted() if self.find_aborted is not None else []


class TimestampOffset(NamedTuple):
    """An answer to "which offset has this time": -1 as the epoch when it is not known."""

    timestamp: int
    offset: int
    leader_epoch: int


class LookAgain(Exception):
    """An index was rebuilt meanwhile: the log may have grown, been cut or been cleaned. Nothing was remembered."""


class LogReader:
    __slots__ = ("_found_base_offset", "_found_bytes", "_mender", "_positions", "_segments", "_track")

    def __init__(self, segments: Segments, track: Callable[[LogSegment], None], mender: Mender) -> None:
        self._segments = segments
        self._track = track
        self._mender = mender
        self._positions: dict[int, Place] = {}
        # Bytes in the active segment when the log was loaded: they may not be in the page cache.
        self._found_base_offset = segments.active.base_offset
        self._found_bytes = segments.active.size_bytes

    def forget_positions(self) -> None:
        self._positions.clear()

    def read(self, offset: int, *, max_bytes: int, up_to: int, log_end_offset: int, min_one: bool) -> ReadResult:
        """See UnifiedLog.read; `offset` lies inside the log. Raises LookAgain, CorruptMessage, OSError."""
        if offset >= up_to:
            if offset == log_end_offset:
                active = self._segments.active
                self._remember(offset, active, active.file.size_bytes)
            return ReadResult([], 0)
        found = self._position_of(offset)
        if found is None:
            return ReadResult([], 0)
        segment, position, batch_bytes = found
        limit = self._limit(segment, up_to, log_end_offset)
        size = limit - position
        if size > max_bytes:
            if min_one:
                max_bytes = max(max_bytes, batch_bytes or _batch_bytes(segment, position))
            size = min(size, max_bytes)
        if size <= 0:
            return ReadResult([], 0)
        piece = FileSlice(segment.file, position, size, self._is_cold(segment, position))

        def find_aborted() -> list[AbortedTransaction]:
            return self._aborted(segment, offset, position, size, log_end_offset)

        return ReadResult([piece], size, find_aborted)

    def size_between(self, offset: int, up_to: int, log_end_offset: int) -> int:
        """The bytes from the batch that holds `offset` to that of `up_to`, or to the end of its segment.

        Raises LookAgain, CorruptMessage, OSError.
        """
        found = self._position_of(offset)
        return 0 if found is None else max(0, self._limit(found[0], up_to, log_end_offset) - found[1])

    def _is_cold(self, segment: LogSegment, position: int) -> bool:
        return (
            segment is not self._segments.active
            or position < segment.file.size_bytes - WARM_BYTES
            or (position < self._found_bytes and segment.base_offset == self._found_base_offset)
        )

    def _limit(self, segment: LogSegment, up_to: int, log_end_offset: int) -> int:
        """Where in `segment` a read up to an offset ends."""
        size = segment.file.size_bytes
        if up_to >= log_end_offset:
            if log_end_offset not in self._positions and segment is self._segments.active:
                self._remember(log_end_offset, segment, size)
            return size
        end = self._position_of(up_to)
        return end[1] if end is not None and end[0] is segment else size

    def _position_of(self, offset: int) -> Place | None:
        """Where the first batch lies that reaches `offset`; None when no batch does. Raises LookAgain."""
        known = self._positions.get(offset)
        if known is not None:
            segment, position, _ = known
            if position < segment.file.size_bytes or segment is self._segments.active:
                return known
        segment = self._segments.holding(offset) or self._segments.first
        while True:
            if not segment.is_tracked:
                self._track(segment)
            mended_count = self._mender.mended_count
            found = segment.position_of(offset)
            if self._mender.mended_count != mended_count:
                raise LookAgain
            if found is not None:
                size_bytes = found.header.size_bytes
                self._remember(offset, segment, found.position, size_bytes)
                return segment, found.position, size_bytes
            following = self._segments.after(segment)
            if following is None:
                return None
            segment = following

    def _remember(self, offset: int, segment: LogSegment, position: int, batch_bytes: int = 0) -> None:
        positions = self._positions
        positions.pop(offset, None)
        if len(positions) >= REMEMBERED_POSITIONS:
            del positions[next(iter(positions))]
        positions[offset] = (segment, position, batch_bytes)

    def _aborted(
        self, segment: LogSegment, offset: int, position: int, size_bytes: int, log_end_offset: int
    ) -> list[AbortedTransaction]:
        """Entries that touch [offset, end of the bytes read), through the segments until one covers the end."""
        end_offset = segment.offset_behind(position, size_bytes)
        if end_offset is None:
            following = self._segments.after(segment)
            end_offset = following.base_offset if following else log_end_offset
        found = []
        for each in self._segments.from_offset(segment.base_offset):
            for entry in each.aborted_transactions():
                if entry.last_offset >= offset and entry.first_offset < end_offset:
                    found.append(entry)
                if entry.last_stable_offset >= end_offset:
                    return found
        return found

    def first_at_or_after(
        self, timestamp: int, log_start_offset: int, times: Times = times_of
    ) -> TimestampOffset | None:
        """The first record from the log start on whose timestamp is at least `timestamp`.

        Blocks: there may be thousands of segments. Raises CorruptMessage, OSError. `times` may block, too: it gets the
        batches that may hold the record.
        """
        for segment in in_slices(self._segments):
            following = self._segments.after(segment)
            if (following is not None and following.base_offset <= log_start_offset) or not segment.size_bytes:
                continue
            generation = segment.file.generation
            found = self._first_in(segment, timestamp, log_start_offset, times)
            if found is not None:
                return found
            if segment.has_gone() and self._segments.at(segment.base_offset) is segment:
                # The log itself was closed or deleted.
                return None
            if segment.has_gone() or segment.file.generation != generation:
                # Replaced while this look-up waited: by a cleaned one, or by others after a truncation.
                return self.first_at_or_after(timestamp, log_start_offset, times)
        return None

    def _first_in(
        self, segment: LogSegment, timestamp: int, log_start_offset: int, times: Times
    ) -> TimestampOffset | None:
        """As `first_at_or_after`, in one segment; also None if it is removed meanwhile."""
        if segment.has_gone():
            return None
        self._track(segment)
        if segment.largest_timestamp < timestamp:
            return None
        for position, header in _candidates(segment, timestamp, log_start_offset):
            for found, offset in times(segment.file.read_batch(position, header.size_bytes)):
                if found >= timestamp and offset >= log_start_offset:
                    return TimestampOffset(found, offset, header.partition_leader_epoch)
        return None

    def with_max_timestamp(self, times: Times = times_of) -> TimestampOffset | None:
        """The first record of the batch that has the largest timestamp of all; None when no record has one.

        Blocks, and raises, as `first_at_or_after`.
        """
        best: LogSegment | None = None
        largest = generation = -1
        for segment in in_slices(self._segments):
            if segment.size_bytes and not segment.has_gone():
                self._track(segment)
                segment.load_times()
            if not segment.has_gone():
                if segment.max_timestamp > largest:
                    best, largest, generation = segment, segment.max_timestamp, segment.file.generation
            elif self._segments.at(segment.base_offset) is not segment:
                # Removed while this look-up waited; a cleaned one may have replaced it.
                return self.with_max_timestamp(times)
        if best is None:
            return None
        for position, header in _candidates(best, largest, best.base_offset):
            for found, offset in times(best.file.read_batch(position, header.size_bytes)):
                if found == largest:
                    return TimestampOffset(found, offset, header.partition_leader_epoch)
        if best.has_gone() or best.file.generation != generation:
            # While this waited.
            return self.with_max_timestamp(times)
        return None


def _candidates(segment: LogSegment, timestamp: int, starting_offset: int) -> Iterator[BatchAt]:
    """Yields to other greenlets between batches. Finds batches that may hold such a record. CorruptMessage, OSError."""
    for found in in_slices(segment.batches_from_time(timestamp, starting_offset)):
        if found.header.max_timestamp >= timestamp and found.header.last_offset >= starting_offset:
            yield found


def _batch_bytes(segment: LogSegment, position: int) -> int:
    """The size of the batch at `position`; 0 when too little is left of one to tell. Raises CorruptMessage, OSError."""
    return batch_size(segment.file.read_at(position, HEADER_SIZE_UP_TO_MAGIC)) or 0
