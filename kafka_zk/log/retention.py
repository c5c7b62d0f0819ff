"""Applies retention: deletes the segments that are due.

Role        Acts, through the log: takes its turn, and never moves its offsets itself. The decision is in
            segments/retention.py.
Invariants  Segments are deleted oldest first, and only below the high watermark. If all are to be deleted, an empty
            one is rolled first: a log is never without a segment.
            A damaged batch keeps no segment for ever: then the file's age counts, not that of its records.
            No caller waits for the turn while deleted segments are still being synced, or segments are walked for
            their times.
Source      UnifiedLog.deleteOldSegments, deleteSegments in Kafka 3.9.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from kafka_zk.log.segments.retention import Limits, Reason, deletable
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.protocol.errors import CorruptMessage

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

log_lines = logging.getLogger("kafka.log.UnifiedLog")


def delete_old_segments(log: UnifiedLog, now_ms: int) -> int:
    """Blocks. Delete what retention does not keep; how many segments went. Raises KafkaStorageError."""
    reasons = tuple(Reason) if log.config.delete else (Reason.LOG_START,)
    return sum(_delete_for(log, reason, now_ms) for reason in reasons)


def _delete_for(log: UnifiedLog, reason: Reason, now_ms: int) -> int:
    with log.log_dir.guard(f"Error while deleting segments for {log.topic_partition} in dir {log.log_dir.path}"):
        damaged: dict[LogSegment, int] = {}
        if reason is Reason.TIME:
            _due(log, reason, now_ms, damaged)  # Learns the times: with the turn little is left to learn.
        with log.turn:
            chosen = _choose(log, reason, now_ms, damaged)
            truncations = log.truncations
        if not chosen:
            return 0
        log.flusher.wait()
        with log.turn:
            log.refuse_if_closed()
            # What was cut meanwhile is judged again the next time.
            return log.remove_oldest(chosen) if log.truncations == truncations else 0


def _choose(log: UnifiedLog, reason: Reason, now_ms: int, damaged: dict[LogSegment, int]) -> list[LogSegment]:
    """The segments that are to go, the oldest of the log; there is another one behind them then."""
    chosen, limits = _due(log, reason, now_ms, damaged)
    if log.active in chosen and log.active in damaged:
        # It cannot be completed, so no segment can follow it.
        chosen.pop()
    if chosen:
        log_lines.info(
            "%s Deleting segments due to %s: %s",
            log.prefix,
            reason.value.format_map(limits._asdict()),
            ", ".join(f"baseOffset={segment.base_offset} size={segment.size_bytes}" for segment in chosen),
        )
        if len(chosen) == len(log.segments):
            log.roll()
    return chosen


def _due(
    log: UnifiedLog, reason: Reason, now_ms: int, damaged: dict[LogSegment, int]
) -> tuple[list[LogSegment], Limits]:
    """Blocks. What retention does not keep, and why. Raises KafkaStorageError.

    `damaged`: segments that were found to be damaged, and the age of their files; it grows here.
    """
    log.refuse_if_closed()
    limits = Limits(
        log_start_offset=log.log_start_offset,
        high_watermark=log.high_watermark,
        log_end_offset=log.log_end_offset,
        retention_bytes=log.config.retention_bytes,
        retention_ms=log.config.retention_ms,
        now_ms=now_ms,
    )
    segments = list(log.segments)
    chosen = segments[: deletable([_Facts(segment, damaged) for segment in segments], reason, limits)]
    log.refuse_if_closed()  # While this waited for the times of a segment: then it looks like an old one.
    return chosen, limits


class _Facts:
    """A segment as retention sees it."""

    __slots__ = ("_damaged", "_segment", "base_offset", "size_bytes")

    def __init__(self, segment: LogSegment, damaged: dict[LogSegment, int]) -> None:
        self._segment = segment
        self._damaged = damaged
        self.base_offset = segment.base_offset
        self.size_bytes = segment.size_bytes

    @property
    def largest_timestamp(self) -> int:
        """Blocks as that of the segment. Raises OSError."""
        segment = self._segment
        if segment in self._damaged:
            return self._damaged[segment]
        try:
            return segment.largest_timestamp
        except CorruptMessage:
            if segment.has_gone():
                # Removed while this waited: the look within the turn judges what is left.
                return segment.max_timestamp
            self._damaged[segment] = int(os.stat(segment.file.path).st_mtime * 1000)
            return self._damaged[segment]
