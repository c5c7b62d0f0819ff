"""How the offsets of a query are cut into pieces: the results of Spark's own connector."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.ranges import OffsetRange, divide, limited, ranges_between

A0, A1, A2 = (TopicPartition("a", index) for index in range(3))


def pieces(sizes: list[int], *, min_partitions: int | None = None, max_records: int | None = None) -> list[list[int]]:
    """The sizes of each range's pieces."""
    ranges = [OffsetRange(TopicPartition("t", index), 0, size) for index, size in enumerate(sizes)]
    divided = divide(ranges, min_partitions=min_partitions, max_records=max_records)
    return [[each.size for each in divided if each.topic_partition.partition == index] for index in range(len(sizes))]


@pytest.mark.parametrize(
    ("sizes", "min_partitions", "expected"),
    [
        ([10], None, [[10]]),
        ([4], 2, [[2, 2]]),
        ([5], 3, [[1, 2, 2]]),
        ([1, 1], 4, [[1], [1]]),
        ([10000, 100], 3, [[5000, 5000], [100]]),
        ([1, 1, 1, 1000], 6, [[1], [1], [1], [333, 333, 334]]),
        ([100, 100, 100], 3, [[100], [100], [100]]),
    ],
)
def test_large_ranges_are_divided_until_there_are_enough_pieces(
    sizes: list[int], min_partitions: int | None, expected: list[list[int]]
) -> None:
    assert pieces(sizes, min_partitions=min_partitions) == expected


def test_no_piece_has_more_records_than_allowed() -> None:
    assert pieces([10, 3], max_records=4) == [[3, 3, 4], [3]]
    assert pieces([8], max_records=4, min_partitions=4) == [[2, 2, 2, 2]]


@given(
    st.lists(st.tuples(st.integers(0, 2**40), st.integers(1, 10**7)), min_size=1, max_size=5),
    st.none() | st.integers(1, 50),
    st.none() | st.integers(10**5, 10**7),
)
def test_pieces_follow_one_another_and_are_the_whole(
    ranges: list[tuple[int, int]], min_partitions: int | None, max_records: int | None
) -> None:
    whole = [OffsetRange(TopicPartition("t", index), start, start + size) for index, (start, size) in enumerate(ranges)]
    divided = divide(whole, min_partitions=min_partitions, max_records=max_records)
    for each in whole:
        own = [piece for piece in divided if piece.topic_partition == each.topic_partition]
        assert own[0].start_offset == each.start_offset
        assert own[-1].end_offset == each.end_offset
        assert all(before.end_offset == after.start_offset for before, after in itertools.pairwise(own))
        assert all(piece.size > 0 for piece in own)


def test_only_ranges_that_hold_offsets_are_read() -> None:
    starts, ends = {A0: 5, A1: 5, A2: 9}, {A0: 7, A1: 5, A2: 3}
    assert ranges_between(starts, ends) == [OffsetRange(A0, 5, 7)]


def test_a_limit_is_shared_out_by_size_and_gives_everyone_something() -> None:
    starts, ends = {A0: 0, A1: 100, A2: 7}, {A0: 900, A1: 200, A2: 7}
    assert limited(starts, ends, 100) == {A0: 90, A1: 110, A2: 7}
    assert limited(starts, ends, 2) == {A0: 1, A1: 101, A2: 7}
    assert limited(starts, ends, 5000) == ends
