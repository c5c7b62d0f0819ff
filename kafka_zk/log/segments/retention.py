"""Which segments of a log are due for deletion.

Role        Pure: decides from the facts of the segments, oldest first, how many of them are deleted.
Invariants  A segment is deleted only if all of it is below the high watermark and all older ones are deleted.
            An empty last segment stays.
Source      UnifiedLog.deletableSegments, deleteRetentionMsBreachedSegments, deleteRetentionSizeBreachedSegments,
            deleteLogStartOffsetBreachedSegments.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol


class SegmentFacts(Protocol):
    """The facts that retention needs; `largest_timestamp` may read a file."""

    @property
    def base_offset(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def largest_timestamp(self) -> int: ...


class Reason(enum.Enum):
    """Why segments are deleted, as the log line says it."""

    LOG_START = "log start offset {log_start_offset} breaches"
    SIZE = "retention size {retention_bytes} breaches"
    TIME = "retention time {retention_ms}ms breaches"


class Limits(NamedTuple):
    """-1 means no limit."""

    log_start_offset: int
    high_watermark: int
    log_end_offset: int
    retention_bytes: int
    retention_ms: int
    now_ms: int


def deletable(segments: Sequence[SegmentFacts], reason: Reason, limits: Limits) -> int:
    """How many of `segments` (all of the log's, oldest first) may be deleted for `reason`."""
    return _leading(segments, limits, _rule(segments, reason, limits))


def _rule(segments: Sequence[SegmentFacts], reason: Reason, limits: Limits) -> Callable[[SegmentFacts, int], bool]:
    if reason is Reason.LOG_START:
        return lambda segment, next_base: next_base <= limits.log_start_offset
    if reason is Reason.TIME:
        if limits.retention_ms < 0:
            return lambda segment, next_base: False
        return lambda segment, next_base: limits.now_ms - segment.largest_timestamp > limits.retention_ms
    if limits.retention_bytes < 0:
        return lambda segment, next_base: False
    surplus = sum(segment.size_bytes for segment in segments) - limits.retention_bytes

    def is_surplus(segment: SegmentFacts, next_base: int) -> bool:
        nonlocal surplus
        # The log never shrinks below the limit: a segment is deleted only if all of it is above the limit.
        if surplus < segment.size_bytes:
            return False
        surplus -= segment.size_bytes
        return True

    return is_surplus


def _leading(segments: Sequence[SegmentFacts], limits: Limits, qualifies: Callable[[SegmentFacts, int], bool]) -> int:
    count = 0
    for slot, segment in enumerate(segments):
        is_last = slot + 1 == len(segments)
        # The last segment has no successor; what follows it is the log end, which no log start offset reaches beyond.
        next_base = limits.log_end_offset if is_last else segments[slot + 1].base_offset
        if is_last and segment.size_bytes == 0:
            break
        if limits.high_watermark < next_base or not qualifies(segment, next_base):
            break
        count += 1
    return count
