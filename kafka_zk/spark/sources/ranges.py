"""Splits a query's offset ranges into the pieces that its tasks read.

Role        Pure.
Source      Spark 4.2 KafkaOffsetRangeCalculator: same number of pieces, same bounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_zk.protocol.types import TopicPartition


class OffsetRange(NamedTuple):
    """Offsets from `start_offset` to before `end_offset`."""

    topic_partition: TopicPartition
    start_offset: int
    end_offset: int

    @property
    def size(self) -> int:
        return self.end_offset - self.start_offset


def ranges_between(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> list[OffsetRange]:
    """The ranges that hold offsets, by partition."""
    found = [OffsetRange(each, starts[each], ends[each]) for each in sorted(ends) if each in starts]
    return [each for each in found if each.size > 0]


def divide(ranges: Iterable[OffsetRange], *, min_partitions: int | None, max_records: int | None) -> list[OffsetRange]:
    """Pieces of at most about `max_records` offsets, and about `min_partitions` of them, the large ranges in more."""
    pieces = [
        piece for each in ranges for piece in _pieces(each, 1 if max_records is None else -(-each.size // max_records))
    ]
    if min_partitions is None or min_partitions <= len(pieces):
        return pieces
    total = sum(each.size for each in pieces)
    small = [each for each in pieces if _share(each, total, min_partitions) == 1]
    total_of_large = total - sum(each.size for each in small)
    for_large = max(min_partitions - len(small), 1)
    divided = []
    for each in pieces:
        count = 1 if each in small else _share(each, total_of_large, for_large)
        divided += _pieces(each, count)
    return divided


def left_of(
    piece: OffsetRange, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> OffsetRange:
    """What of a piece lies between its partition's start and end; empty where nothing does or neither is known."""
    partition, start, end = piece
    first, behind_last = starts.get(partition, end), ends.get(partition, start)
    kept_start = min(max(start, first), end)
    return OffsetRange(partition, kept_start, max(kept_start, min(end, behind_last)))


def _share(of: OffsetRange, total: int, count: int) -> int:
    """Java's Math.round: halves go up."""
    return max(1, int(of.size / total * count + 0.5))


def _pieces(of: OffsetRange, count: int) -> list[OffsetRange]:
    """`count` ranges of nearly the same size, without empty ones."""
    bounds = [of.start_offset]
    for left in range(count, 0, -1):
        bounds.append(bounds[-1] + (of.end_offset - bounds[-1]) // left)
    return [OffsetRange(of.topic_partition, start, end) for start, end in itertools.pairwise(bounds) if end > start]


def limited(
    starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], max_offsets: int
) -> dict[TopicPartition, int]:
    """Ends of at most about `max_offsets` offsets in all, shared out by how many each partition has.

    Every partition that has any gets one at least. Source: KafkaMicroBatchStream.rateLimit.
    """
    sizes = {each: ends[each] - starts.get(each, ends[each]) for each in ends}
    total = sum(size for size in sizes.values() if size > 0)
    if total < 1:
        return dict(ends)
    result = {}
    for each, size in sizes.items():
        share = max_offsets * (size / total)
        taken = int(share) if share >= 1 else 1
        result[each] = min(ends[each], starts[each] + taken) if size > 0 else ends[each]
    return result
