"""RecordCounts: the exact number of records between two offsets of a log.

Role        Acts: reads headers of batches that are not counted yet, and only when metrics are scraped.
Invariants  A count is exact, or there is none: the holes of compaction and the markers of transactions are left out.
            Counts are cached by segment file, so a cleaned segment is counted again; so is a file that
            was truncated since. A count unused in one scrape is dropped after it.
            One scrape reads at most BATCHES_PER_LOOK headers, and waits for the disk for DISK_MS_PER_LOOK: a scrape
            has its own time limit. The rest is counted in the next. One scrape at a time.
Differs from Kafka: there is nothing like it; lag there is a difference of offsets.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kafka_zk.clock import Clock
from kafka_zk.log.files.header_walk import CountedBatch, count_below, walk
from kafka_zk.protocol.errors import BrokerError

if TYPE_CHECKING:
    from kafka_zk.log.files.segment_file import SegmentFile
    from kafka_zk.log.segments.slice import FileSlice
    from kafka_zk.log.unified_log import UnifiedLog

BATCHES_PER_LOOK = 50_000
BATCHES_PER_READ = 256
"""Batches counted without a pause: half a millisecond. Also the distance of cached positions."""

DISK_MS_PER_LOOK = 1_000
"""For large batches each header needs its own read: ten milliseconds on a spinning disk."""

MAX_READ_BYTES = 2**31 - 1

Pause = Callable[[], None]
T = TypeVar("T")


class _SegmentCounts:
    """`counts[i]` records lie between the first of `positions` and the i-th; `total` up to `end`."""

    __slots__ = ("counts", "end", "end_offset", "generation", "positions", "total")

    def __init__(self, generation: int, position: int) -> None:
        self.generation = generation
        self.positions = [position]
        self.counts = [0]
        self.total = 0
        self.end = position
        self.end_offset = -1

    def take(self, batches: list[CountedBatch]) -> None:
        """Add the batches that follow `end`."""
        last = batches[-1]
        self.total += sum(batch.record_count for batch in batches)
        self.end = last.position + last.header.size_bytes
        self.end_offset = last.header.next_offset
        self.positions.append(self.end)
        self.counts.append(self.total)


class _DiskTimeIsOver(Exception):
    """This scrape has used up its time for the disk."""


class RecordCounts:
    """`pause` yields to other greenlets."""

    def __init__(self, pause: Pause, clock: Clock) -> None:
        self._pause = pause
        self._clock = clock
        self._segments: dict[SegmentFile, _SegmentCounts] = {}
        self._asked: set[SegmentFile] = set()
        self._budget = 0
        self._disk_ms_left = 0

    def begin_look(self) -> None:
        self._budget = BATCHES_PER_LOOK
        self._disk_ms_left = DISK_MS_PER_LOOK
        self._asked = set()

    def end_look(self) -> None:
        for file in self._segments.keys() - self._asked:
            del self._segments[file]

    def between(self, log: UnifiedLog, offset: int, up_to: int) -> int | None:
        """Blocks. Returns the records of `log` in [offset, up_to); None if that would take too long, or is unknown.

        Asked for several offsets of a log, begin with the smallest: its counts are reused for the others.
        """
        if offset >= up_to:
            return 0
        try:
            return self._between(log, offset, up_to)
        except _DiskTimeIsOver:
            return None
        except (BrokerError, OSError):
            return None  # Truncated, deleted, closed or damaged meanwhile: reported elsewhere.

    def _between(self, log: UnifiedLog, offset: int, up_to: int) -> int | None:
        total = 0
        while offset < up_to:
            pieces = log.read(offset, max_bytes=MAX_READ_BYTES, up_to=up_to, min_one=True).slices
            if not pieces:
                return total  # Only a gap that the cleaner left at the end.
            try:
                found = self._count(log, pieces[0], offset)
            finally:
                for piece in pieces:
                    piece.release()
            if found is None:
                return None
            count, following = found
            if following <= offset:
                return total
            total, offset = total + count, following
        return total

    def _count(self, log: UnifiedLog, piece: FileSlice, offset: int) -> tuple[int, int] | None:
        """The records of `piece` from `offset` on, and the offset that follows it."""
        position, end = piece.position, piece.position + piece.size_bytes
        known = self._known(piece)
        while known.end < end:
            if self._budget <= 0:
                return None
            batches = self._read(log, piece, walk, piece.fileno, known.end, end, BATCHES_PER_READ)
            if not batches:
                break  # The last batch of the piece is cut off by its end.
            known.take(batches)
            self._budget -= len(batches)
            self._pause()
        place = bisect_right(known.positions, position) - 1
        before = known.counts[place]
        if known.positions[place] < position:
            behind = self._read(log, piece, walk, piece.fileno, known.positions[place], position, BATCHES_PER_READ)
            before += sum(batch.record_count for batch in behind)
        before += self._read(log, piece, count_below, piece.fileno, position, offset)
        self._pause()
        if not piece.is_intact:
            return None
        if known.end > end:
            return self._up_to(log, piece, known, end, before)
        return known.total - before, known.end_offset

    def _up_to(
        self, log: UnifiedLog, piece: FileSlice, known: _SegmentCounts, end: int, before: int
    ) -> tuple[int, int]:
        """As `_count`, for a piece that ends before the known counts: an earlier scrape got further."""
        place = bisect_right(known.positions, end) - 1
        total = known.counts[place]
        behind = self._read(log, piece, walk, piece.fileno, known.positions[place], end, BATCHES_PER_READ)
        if behind:
            return total + sum(batch.record_count for batch in behind) - before, behind[-1].header.next_offset
        previous = self._read(log, piece, walk, piece.fileno, known.positions[place - 1], end, BATCHES_PER_READ)
        return total - before, previous[-1].header.next_offset

    def _known(self, piece: FileSlice) -> _SegmentCounts:
        """The counts of the file; new ones from `piece` on if none are usable."""
        file = piece.file
        self._asked.add(file)
        known = self._segments.get(file)
        if (
            known is None
            or known.generation != file.generation
            or not known.positions[0] <= piece.position <= known.end
        ):
            known = self._segments[file] = _SegmentCounts(file.generation, piece.position)
        return known

    def _read(self, log: UnifiedLog, piece: FileSlice, function: Callable[..., T], *arguments: int) -> T:
        """Blocks. In a thread if the disk may be needed. Raises _DiskTimeIsOver."""
        with log.log_dir.guard(f"Error while counting the records of {log.topic_partition}"):
            if not piece.is_cold:
                return function(*arguments)
            if self._disk_ms_left <= 0:
                raise _DiskTimeIsOver
            pools = log.log_dir.pools
            began_ms = self._clock.monotonic_ms()
            try:
                return pools.run_to_end(pools.read, function, *arguments)
            finally:
                self._disk_ms_left -= self._clock.monotonic_ms() - began_ms
