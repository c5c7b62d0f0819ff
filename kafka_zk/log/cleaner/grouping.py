"""Groups segments that are cleaned into one.

Role        Pure.
Invariants  Neighbours only, in order. A group's sums of log bytes and of each index's bytes stay within a segment's
            limits, and its offsets within the range of an index entry; so many small segments become few.
Source      Kafka 3.9 Cleaner.groupSegmentsBySize, lastOffsetForFirstSegment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from kafka_zk.log.segments.roll import MAX_RELATIVE_OFFSET


class SegmentSizes(Protocol):
    @property
    def base_offset(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def offset_index_bytes(self) -> int: ...
    @property
    def time_index_bytes(self) -> int: ...


S = TypeVar("S", bound=SegmentSizes)


def group_segments(
    segments: Sequence[S], *, segment_bytes: int, index_bytes: int, first_uncleanable_offset: int
) -> list[list[S]]:
    """`segments`, oldest first, in groups."""
    groups: list[list[S]] = []
    size = offset_index = time_index = 0
    for slot, segment in enumerate(segments):
        following = segments[slot + 1].base_offset if slot + 1 < len(segments) else first_uncleanable_offset
        if (
            groups
            and size + segment.size_bytes <= segment_bytes
            and offset_index + segment.offset_index_bytes <= index_bytes
            and time_index + segment.time_index_bytes <= index_bytes
            # An empty segment adds no offset, so it may join the group.
            and (segment.size_bytes == 0 or following - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET)
        ):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size = offset_index = time_index = 0
        size += segment.size_bytes
        offset_index += segment.offset_index_bytes
        time_index += segment.time_index_bytes
    return groups
