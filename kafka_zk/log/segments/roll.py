"""When a log starts a new segment.

Role        Pure.
Source      LogSegment.shouldRoll, RollParams, LogConfig.maxSegmentMs and randomSegmentJitter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kafka_zk.record.batch import Batch

MAX_RELATIVE_OFFSET: Final = 0x7FFFFFFF
NO_TIMESTAMP = -1


def has_no_room_for(
    *, size_bytes: int, append_bytes: int, segment_bytes: int, base_offset: int, last_offset: int, indexes_full: bool
) -> bool:
    """Whether an append that ends with `last_offset` does not fit into the segment."""
    return (
        size_bytes > segment_bytes - append_bytes
        or (size_bytes > 0 and indexes_full)
        or last_offset - base_offset > MAX_RELATIVE_OFFSET
    )


def is_too_old(
    *,
    size_bytes: int,
    first_timestamp: int,
    append_timestamp: int,
    created_ms: int,
    now_ms: int,
    segment_ms: int,
    jitter_ms: int,
) -> bool:
    """Whether the segment's time is over: by record time, or by its age while its records carry no time.

    `first_timestamp` is the max timestamp of the first batch, -1 without one; `append_timestamp` that of the append.
    """
    if size_bytes == 0:
        return False
    waited_ms = append_timestamp - first_timestamp if first_timestamp > NO_TIMESTAMP else now_ms - created_ms
    return waited_ms > segment_ms - jitter_ms


def drawn_jitter_ms(*, jitter_ms: int, segment_ms: int, draw_below: Callable[[int], int]) -> int:
    """By how much a segment, new or found at a start, is rolled early: so not all logs roll at the same time.

    Source: LogConfig.randomSegmentJitter, LogSegment.open.
    """
    bound = min(jitter_ms, segment_ms)
    return draw_below(bound) if bound > 0 else 0


def segment_life_ms(*, segment_ms: int, max_compaction_lag_ms: int, compact: bool) -> int:
    """How long a segment may stay active. A compacted topic must roll in time for its compaction lag."""
    return min(segment_ms, max_compaction_lag_ms) if compact else segment_ms


def parts_of(batches: Sequence[Batch], segment_bytes: int) -> Iterator[list[Batch]]:
    """Adjacent batches of one buffer, as many at a time as one segment may hold; one alone that is larger."""
    part: list[Batch] = []
    for batch in batches:
        if part and batch.end - part[0].position > segment_bytes:
            yield part
            part = []
        part.append(batch)
    if part:
        yield part
