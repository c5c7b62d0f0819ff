"""Copies in order: where a broken-off one goes on, and which offset became which."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.client.range_writing.arrivals import Arrival, Arrivals, ProducerIdentity
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.copy_plan import (
    MAX_EPOCH,
    Note,
    Sending,
    Span,
    decode_note,
    next_sending,
    renamed_partitions,
    spans_of,
    translate,
)
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.jobs.source_runs import each_offset, joined, part, runs_of, size, without

T0, T1 = TopicPartition("t", 0), TopicPartition("t-1", 1)
ONE, OTHER = ProducerIdentity(7, 0), ProducerIdentity(8, 0)
OFFSETS = st.sets(st.integers(0, 40))


def test_a_note_says_the_same_when_it_is_read():
    sending = Sending(5, ONE, ((3, 2), (9, 1)), ((0, 3),), (Span(0, 1, 3),))
    note = Note({T0: sending, T1: Sending(0, OTHER, ())}, {"u": "x"})
    assert decode_note(note.encode()) == note


def test_sequences_go_on_where_what_is_left_is_what_was_noted():
    before = Sending(5, ONE, ((3, 4),))
    assert next_sending(before, Arrivals(2, (Arrival(0, 5, 2),)), ((3, 4),), 7, OTHER) is before


def test_what_the_source_lost_begins_a_new_note_with_the_next_epoch():
    before = Sending(5, ONE, ((3, 4),))
    after = next_sending(before, Arrivals(2, (Arrival(0, 5, 2),)), ((6, 1), (8, 1)), 7, OTHER)
    assert after == Sending(7, ProducerIdentity(7, 1), ((6, 1), (8, 1)), ((3, 2),), (Span(3, 5, 2),))


def test_a_producer_without_a_further_epoch_is_replaced():
    before = Sending(5, ProducerIdentity(7, MAX_EPOCH), ((3, 4),))
    assert next_sending(before, Arrivals(0, ()), ((6, 1),), 5, OTHER).identity == OTHER


def test_more_than_was_ever_sent_is_a_fault():
    with pytest.raises(JobError, match="found 3 records of this copy, but only 2 were sent"):
        spans_of(Sending(0, ONE, ((0, 2),)), Arrivals(3, ()))


@given(OFFSETS, OFFSETS, st.integers(0, 40), st.integers(0, 40))
def test_runs_are_sets_of_offsets(first: set[int], second: set[int], start: int, count: int):
    one, two = runs_of(sorted(first)), runs_of(sorted(second))
    assert list(each_offset(one)) == sorted(first)
    assert joined(one, two) == runs_of(sorted(first | second))
    assert without(one, two) == runs_of(sorted(first - second))
    assert part(one, start, count) == runs_of(sorted(first)[start : start + count])
    assert size(one) == len(first)


def test_two_topics_are_not_copied_to_one():
    assert renamed_partitions([T0], {"t": "u"}) == {T0: TopicPartition("u", 0)}
    with pytest.raises(JobError, match="topics t and t-1 cannot both be copied to t-1"):
        renamed_partitions([T0, T1], {"t": "t-1"})


def placed(offsets: set[int], first: int) -> list[Span]:
    """As they stand when they were sent in order, without a gap, in batches of three."""
    sending = Sending(first, ONE, runs_of(sorted(offsets)))
    ends = range(0, len(offsets), 3)
    runs = tuple(Arrival(at, first + at, min(3, len(offsets) - at)) for at in ends)
    return spans_of(sending, Arrivals(len(offsets), runs))


def test_a_hole_in_the_source_begins_a_new_span_and_leaves_none_in_the_target():
    assert placed({10, 11, 14, 15, 20}, 3) == [Span(10, 3, 2), Span(14, 5, 2), Span(20, 7, 1)]


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(0, 50))
def test_each_record_is_found_where_it_was_written(offsets: set[int], first: int):
    ordered = sorted(offsets)
    table = placed(offsets, first)
    for index, offset in enumerate(ordered):
        assert translate(offset, table) == first + index


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(0, 300))
def test_a_group_reads_exactly_the_records_that_it_had_not_read(offsets: set[int], committed: int):
    ordered = sorted(offsets)
    translated = translate(committed, placed(offsets, 0))
    assert translated == sum(offset < committed for offset in ordered)


def test_a_partition_that_was_not_copied_has_no_translation():
    assert translate(5, []) is None


@given(st.sets(st.integers(0, 200), min_size=1))
def test_spans_follow_each_other_in_the_target(offsets: set[int]):
    for before, after in pairwise(placed(offsets, 7)):
        assert after.target_offset == before.target_offset + before.record_count
