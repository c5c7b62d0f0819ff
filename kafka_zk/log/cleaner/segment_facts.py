"""A segment as the cleaner's decisions and log lines see it.

Role        Acts: timestamps come from the segment's files, on demand.
Source      Kafka 3.9 LogSegment: largestTimestamp, getFirstBatchTimestamp, toString.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kafka_zk.log.cleaner.choosing import LogFacts
from kafka_zk.log.files.offset_index import ENTRY_SIZE_BYTES as OFFSET_ENTRY_BYTES
from kafka_zk.log.files.time_index import ENTRY_SIZE_BYTES as TIME_ENTRY_BYTES
from kafka_zk.log.segments.open_segments import OpenSegments
from kafka_zk.log.segments.segment import LogSegment

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog


class SegmentView:
    """SegmentFacts and SegmentSizes of one segment. Raises OSError where files are read."""

    __slots__ = ("_open_segments", "segment")

    def __init__(self, segment: LogSegment, open_segments: OpenSegments | None = None) -> None:
        self.segment = segment
        self._open_segments = open_segments

    @property
    def base_offset(self) -> int:
        return self.segment.base_offset

    @property
    def size_bytes(self) -> int:
        return self.segment.size_bytes

    @property
    def offset_index_bytes(self) -> int:
        return self.segment.indexes.offset.file.entry_count * OFFSET_ENTRY_BYTES

    @property
    def time_index_bytes(self) -> int:
        return self.segment.indexes.time.file.entry_count * TIME_ENTRY_BYTES

    @property
    def largest_timestamp(self) -> int:
        self._track()
        return self.segment.largest_timestamp

    @property
    def first_batch_timestamp(self) -> int:
        self._track()
        self.segment.load_times()
        return self.segment.first_timestamp

    def _track(self) -> None:
        if self._open_segments is not None:
            self._open_segments.track(self.segment)


def facts_of(log: UnifiedLog) -> LogFacts:
    config = log.config
    return LogFacts(
        segments=[SegmentView(each, log.log_dir.open_segments) for each in log.segments],
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        last_stable_offset=log.last_stable_offset,
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        max_compaction_lag_ms=config.max_compaction_lag_ms,
        min_cleanable_dirty_ratio=config.min_cleanable_dirty_ratio,
        is_deleted_from=config.delete,
    )


def describe(segment: LogSegment) -> str:
    """The text of a segment in Kafka's log lines."""
    modified_ms = os.stat(segment.file.path).st_mtime_ns // 1_000_000
    return (
        f"LogSegment(baseOffset={segment.base_offset}, size={segment.size_bytes}, lastModifiedTime={modified_ms}, "
        f"largestRecordTimestamp={segment.max_timestamp})"
    )
