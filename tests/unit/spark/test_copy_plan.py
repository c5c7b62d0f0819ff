"""Copies in order: where a broken-off one goes on, and which offset became which."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.copy_plan import (
    Resume,
    Span,
    decode_base,
    encode_base,
    renamed_partitions,
    resume,
    spans,
    translate,
)
from kafka_zk.spark.jobs.outcome import JobError

T0, T1 = TopicPartition("t", 0), TopicPartition("t-1", 1)


def test_what_is_behind_the_noted_end_is_what_was_copied():
    base = decode_base(encode_base({T0: 5, T1: 0}))
    assert resume(base, {T0: 8, T1: 0}) == {T0: Resume(5, 3), T1: Resume(0, 0)}


def test_a_topic_that_became_shorter_is_refused_by_name():
    with pytest.raises(JobError, match="t-0 ends at offset 4, below 5 where this copy began"):
        resume({T0: 5}, {T0: 4})


def test_a_partition_that_the_copy_did_not_begin_with_is_refused_by_name():
    with pytest.raises(JobError, match="t-0 had no part in the copy of this checkpoint"):
        resume({T1: 0}, {T0: 4, T1: 0})


def test_a_copy_of_fewer_partitions_goes_on():
    assert resume({T0: 5, T1: 0}, {T0: 8}) == {T0: Resume(5, 3)}


def test_two_topics_are_not_copied_to_one():
    assert renamed_partitions([T0], {"t": "u"}) == {T0: TopicPartition("u", 0)}
    with pytest.raises(JobError, match="topics t and t-1 cannot both be copied to t-1"):
        renamed_partitions([T0, T1], {"t": "t-1"})


def test_a_hole_in_the_source_begins_a_new_span_and_leaves_none_in_the_target():
    assert list(spans([10, 11, 14, 15, 20], 3)) == [Span(10, 3, 2), Span(14, 5, 2), Span(20, 7, 1)]


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(0, 50))
def test_each_record_is_found_where_it_was_written(offsets: set[int], first: int):
    ordered = sorted(offsets)
    table = list(spans(ordered, first))
    for index, offset in enumerate(ordered):
        assert translate(offset, table) == first + index


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(0, 300))
def test_a_group_reads_exactly_the_records_that_it_had_not_read(offsets: set[int], committed: int):
    ordered = sorted(offsets)
    translated = translate(committed, list(spans(ordered, 0)))
    assert translated == sum(offset < committed for offset in ordered)


def test_a_partition_that_was_not_copied_has_no_translation():
    assert translate(5, []) is None


@given(st.sets(st.integers(0, 200), min_size=1))
def test_spans_follow_each_other_in_the_target(offsets: set[int]):
    for before, after in pairwise(spans(sorted(offsets), 7)):
        assert after.target_offset == before.target_offset + before.record_count
