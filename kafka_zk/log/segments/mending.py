"""IndexMender: walks a segment while the broker serves it, to rebuild wrong indexes or to find the largest timestamp.

Role        Acts. A thread walks the segment; on the loop only the entries are written, some at a time.
Invariants  A greenlet that needs a segment under repair waits and then retries; all others continue. If a walk fails,
            each waiting greenlet gets its error. Batches appended meanwhile are indexed at the end. A segment that is
            removed meanwhile is left alone.
Source      LogSegment.recover; that a running broker does this is ours.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import gevent
from gevent.event import AsyncResult

from kafka_zk.log.files.time_index import TimestampOffset
from kafka_zk.log.pools import LogPools
from kafka_zk.log.segments.index_walk import Walk, walk_on
from kafka_zk.log.segments.segment import SHORT_WALK_BYTES, LogSegment
from kafka_zk.record.runs import Indexing

log = logging.getLogger("org.apache.kafka.storage.internals.log.LogSegment")

T = TypeVar("T")

NO_ENTRIES = 1 << 62
"""An interval between index entries that is longer than any segment."""

ENTRIES_AT_ONCE = 2000
"""Written in a millisecond or two."""


class IndexMender:
    """`mended_count`: a reader that waited must look again, as segments may have been removed meanwhile."""

    def __init__(self, pools: LogPools) -> None:
        self.mended_count = 0
        self._pools = pools
        self._mends: dict[LogSegment, AsyncResult[bool]] = {}
        self._searches: dict[LogSegment, AsyncResult[bool]] = {}

    def mend(self, segment: LogSegment) -> None:
        """Blocks until the indexes of `segment` agree with it, or it is removed. Raises CorruptMessage, OSError."""

        def mend() -> None:
            segment.indexes.are_being_rebuilt = True
            try:
                self._mend(segment)
            except BaseException:
                segment.forget_times()
                raise
            finally:
                segment.indexes.are_being_rebuilt = False
                self.mended_count += 1

        _once(self._mends, segment, mend)

    def largest_timestamp(self, segment: LogSegment, position: int, known: TimestampOffset) -> TimestampOffset | None:
        """Blocks. Returns `known`, or the first larger one now at or after `position`.

        None if another greenlet did the work: the caller must look again. Raises CorruptMessage, OSError.
        """

        def search() -> TimestampOffset:
            found = self._walk(segment, Walk(position, indexing=Indexing(*known)), NO_ENTRIES).indexing
            return TimestampOffset(found.max_timestamp, found.offset_of_max_timestamp)

        return _once(self._searches, segment, search)

    def _mend(self, segment: LogSegment) -> None:
        file, interval_bytes = segment.file, segment.indexes.interval_bytes
        log.warning("Found an index that does not agree with %s, rebuilding index files...", file.path)
        walk, came_to = self._walk(segment, Walk(), interval_bytes), 0
        if _is_gone(segment):
            return
        segment.forget_indexes()
        while self._take_in(segment, walk) and came_to < walk.position < file.size_bytes - SHORT_WALK_BYTES:
            # Over what was appended meanwhile: each walk is shorter than the one before.
            came_to, walk = walk.position, self._walk(segment, walk, interval_bytes)
        if _is_gone(segment):
            return
        rest = walk_on(file, file.size_bytes, interval_bytes, walk)
        segment.take_in(list(rest.entries), rest.indexing)
        segment.indexes_are_rebuilt(rest.first_timestamp)

    def _walk(self, segment: LogSegment, walk: Walk, interval_bytes: int) -> Walk:
        """Blocks. `walk` to the end that the segment has now."""
        file, pools = segment.file, self._pools
        file.fileno()  # Opened here, for the thread.
        return pools.run_to_end(pools.maintenance, walk_on, file, file.size_bytes, interval_bytes, walk)

    def _take_in(self, segment: LogSegment, walk: Walk) -> bool:
        """Blocks. Write the entries that a walk has found; whether the segment is still there."""
        for first in range(0, len(walk.entries), ENTRIES_AT_ONCE):
            if _is_gone(segment):
                return False
            segment.take_in(list(walk.entries[first : first + ENTRIES_AT_ONCE]), walk.indexing)
            gevent.sleep(0)
        return not _is_gone(segment)


def _once(under_way: dict[LogSegment, AsyncResult[bool]], segment: LogSegment, work: Callable[[], T]) -> T | None:
    """Blocks. Returns the result of `work`; None if another greenlet did it, once that is done. Raises its error.

    `under_way` tells waiting greenlets whether the work was completed: not if its greenlet was killed.
    """
    while (other := under_way.get(segment)) is not None:
        if other.get():
            return None
    done = under_way[segment] = AsyncResult()
    segment.file.retain()
    try:
        found = work()
        done.set(True)
        return found
    except Exception as error:
        done.set_exception(error)
        raise
    finally:
        segment.file.release()
        del under_way[segment]
        if not done.ready():
            done.set(False)


def _is_gone(segment: LogSegment) -> bool:
    return segment.file.is_given_up
