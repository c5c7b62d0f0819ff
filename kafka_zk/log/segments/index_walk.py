"""Computes what a segment's indexes should hold, from its batches alone.

Role        Plain, for a thread: touches only the segment's file, which the caller holds meanwhile.
Source      LogSegment.recover.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.files.time_index import NO_TIMESTAMP
from kafka_zk.record.batch import batch_size, read_header
from kafka_zk.record.runs import IndexEntry, Indexing, taken_in
from kafka_zk.record.walking import index_run


class Walk(NamedTuple):
    """How far it came. `entries` are those of the last call."""

    position: int = 0
    first_timestamp: int = NO_TIMESTAMP
    indexing: Indexing = Indexing()
    entries: tuple[IndexEntry, ...] = ()


def walk_on(file: SegmentFile, size_bytes: int, interval_bytes: int, walk: Walk) -> Walk:
    """Blocks. From where `walk` came to on to the last whole batch below `size_bytes`. CorruptMessage, OSError."""
    position, indexing, first_timestamp = walk.position, walk.indexing, walk.first_timestamp
    entries: list[IndexEntry] = []
    while (window := file.window(position, size_bytes)) is not None:
        if not position:
            first_timestamp = read_header(window).max_timestamp
        end = at = 0
        while (size := batch_size(window, end)) is not None and end + size <= len(window):
            end += size
        while at < end:
            run = index_run(window[:end], at, position, interval_bytes, indexing)
            entries += run.entries
            indexing, at = run.indexing, run.end
            if at < end:  # A legacy message.
                header = read_header(window, at)
                indexing = taken_in(
                    indexing,
                    entries,
                    position + at,
                    header.size_bytes,
                    header.last_offset,
                    header.max_timestamp,
                    interval_bytes,
                )
                at += header.size_bytes
        position += end
    return Walk(position, first_timestamp, indexing, tuple(entries))
