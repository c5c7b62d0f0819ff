"""IndexMender: rebuilds wrong indexes of a segment while the broker serves it.

Role        Acts. A thread walks the segment; on the loop only the entries are written, some at a time.
Invariants  Readers that need a segment under repair wait for it and then retry; all others continue. Where the repair
            fails, each of them gets its error. What is appended meanwhile is taken in at the end. A segment that is
            removed meanwhile is left alone.
Source      LogSegment.recover; that a running broker does this is ours.
"""

from __future__ import annotations

import logging

import gevent
from gevent.event import AsyncResult

from kafka_zk.log.pools import LogPools
from kafka_zk.log.segments.index_walk import Walk, walk_on
from kafka_zk.log.segments.segment import SHORT_WALK_BYTES, LogSegment

log = logging.getLogger("org.apache.kafka.storage.internals.log.LogSegment")

ENTRIES_AT_ONCE = 2000
"""Written in a millisecond or two."""


class IndexMender:
    """`mended_count`: who read while it grew has to look again, for segments may have gone meanwhile."""

    def __init__(self, pools: LogPools) -> None:
        self.mended_count = 0
        self._pools = pools
        self._under_way: dict[LogSegment, AsyncResult[bool]] = {}
        """Whether each came to its end: none does whose greenlet is killed."""

    def mend(self, segment: LogSegment) -> None:
        """Blocks. Until the indexes of `segment` agree with it, or it is gone. Raises CorruptMessage, OSError."""
        while (other := self._under_way.get(segment)) is not None:
            if other.get():
                return
        done = self._under_way[segment] = AsyncResult()
        segment.indexes.are_being_rebuilt = True
        segment.file.retain()
        try:
            self._mend(segment)
            done.set(True)
        except Exception as error:
            done.set_exception(error)
            raise
        finally:
            segment.file.release()
            segment.indexes.are_being_rebuilt = False
            del self._under_way[segment]
            self.mended_count += 1
            if not done.ready():
                done.set(False)

    def _mend(self, segment: LogSegment) -> None:
        file, interval_bytes = segment.file, segment.indexes.interval_bytes
        log.warning("Found an index that does not agree with %s, rebuilding index files...", file.path)
        file.fileno()  # Opened here, for the thread.
        walk, came_to = self._walk(segment, Walk()), 0
        if _is_gone(segment):
            return
        segment.forget_indexes()
        while self._take_in(segment, walk) and came_to < walk.position < file.size_bytes - SHORT_WALK_BYTES:
            # Over what was appended meanwhile: each walk is shorter than the one before.
            came_to, walk = walk.position, self._walk(segment, walk)
        if _is_gone(segment):
            return
        rest = walk_on(file, file.size_bytes, interval_bytes, walk)
        segment.take_in(list(rest.entries), rest.indexing)
        segment.indexes_are_rebuilt(rest.first_timestamp)

    def _walk(self, segment: LogSegment, walk: Walk) -> Walk:
        """Blocks. `walk` to the end that the segment has now."""
        file, interval_bytes = segment.file, segment.indexes.interval_bytes
        pools = self._pools
        return pools.run_to_end(pools.maintenance, walk_on, file, file.size_bytes, interval_bytes, walk)

    def _take_in(self, segment: LogSegment, walk: Walk) -> bool:
        """Blocks. Write the entries that a walk has found; whether the segment is still there."""
        for first in range(0, len(walk.entries), ENTRIES_AT_ONCE):
            if _is_gone(segment):
                return False
            segment.take_in(list(walk.entries[first : first + ENTRIES_AT_ONCE]), walk.indexing)
            gevent.sleep(0)
        return not _is_gone(segment)


def _is_gone(segment: LogSegment) -> bool:
    return segment.file.is_given_up
