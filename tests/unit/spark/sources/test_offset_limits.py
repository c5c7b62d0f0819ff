"""Where queries start and end, and what that means for each partition."""

from __future__ import annotations

import pytest

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.sources.offset_limits import (
    EARLIEST,
    LATEST,
    NOT_FOUND,
    Kind,
    Side,
    check_batch_limits,
    read_limit,
)

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
ENDS = {A0: 10, A1: 20}


def starting(options: dict[str, str], default: Kind = Kind.EARLIEST) -> dict[TopicPartition, int]:
    return read_limit(options, Side.STARTING, default).look_ups([A0, A1])


def test_without_an_option_the_default_is_looked_up() -> None:
    assert starting({}) == {A0: EARLIEST, A1: EARLIEST}
    assert starting({}, Kind.LATEST) == {A0: LATEST, A1: LATEST}


def test_a_word_is_for_every_partition_whatever_its_case() -> None:
    assert starting({"startingOffsets": "Latest"}) == {A0: LATEST, A1: LATEST}


def test_specific_offsets_are_taken_and_only_words_in_them_looked_up() -> None:
    limit = read_limit({"startingOffsets": '{"a":{"0":5,"1":-2}}'}, Side.STARTING, Kind.LATEST)
    assert limit.look_ups([A0, A1]) == {A1: EARLIEST}
    assert [limit.resolve(each, {A1: 3}, ENDS) for each in (A0, A1)] == [5, 3]


def test_specific_offsets_must_name_every_partition_and_no_other() -> None:
    for text in ('{"a":{"0":5}}', '{"a":{"0":5,"1":6,"2":7}}'):
        with pytest.raises(SourceOptionError, match=r"must name every partition.*read are a-0, a-1"):
            starting({"startingOffsets": text})


def test_a_timestamp_for_all_goes_before_those_by_partition_and_these_before_offsets() -> None:
    by_partition = {"startingOffsetsByTimestamp": '{"a":{"0":7,"1":8}}', "startingOffsets": "latest"}
    assert starting(by_partition) == {A0: 7, A1: 8}
    assert starting({"startingTimestamp": "9", **by_partition}) == {A0: 9, A1: 9}


def test_a_starting_time_behind_the_last_record_is_an_error_unless_told_otherwise() -> None:
    options = {"startingTimestamp": "9"}
    limit = read_limit(options, Side.STARTING, Kind.EARLIEST)
    with pytest.raises(SourceOptionError, match="Partition a-0 has no record at or after timestamp 9"):
        limit.resolve(A0, {A0: NOT_FOUND}, ENDS)
    options["startingOffsetsByTimestampStrategy"] = "latest"
    assert read_limit(options, Side.STARTING, Kind.EARLIEST).resolve(A0, {A0: NOT_FOUND}, ENDS) == 10


def test_an_ending_time_behind_the_last_record_is_the_end_of_the_log() -> None:
    limit = read_limit({"endingTimestamp": "9"}, Side.ENDING, Kind.LATEST)
    assert limit.resolve(A1, {A1: NOT_FOUND}, ENDS) == 20


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "first"},
        {"startingOffsets": '{"a":{"0":-3}}'},
        {"startingOffsets": '{"a":{"x":1}}'},
        {"startingOffsets": '{"a":5}'},
        {"startingOffsets": '{"a":{"0":"5"}}'},
        {"startingTimestamp": "-1"},
        {"startingTimestamp": "now"},
        {"startingOffsetsByTimestamp": "earliest"},
        {"startingOffsetsByTimestamp": '{"a":{"0":-1}}'},
        {"startingOffsetsByTimestampStrategy": "last", "startingTimestamp": "1"},
    ],
)
def test_what_is_none_of_this_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(SourceOptionError):
        starting(options)


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "latest"},
        {"endingOffsets": "earliest"},
        {"startingOffsets": '{"a":{"0":-1}}'},
        {"endingOffsets": '{"a":{"0":-2}}'},
    ],
)
def test_a_batch_starts_where_something_is_and_ends_where_it_ends(options: dict[str, str]) -> None:
    start, end = read_limit(options, Side.STARTING, Kind.EARLIEST), read_limit(options, Side.ENDING, Kind.LATEST)
    with pytest.raises(SourceOptionError, match="in a batch query"):
        check_batch_limits(start, end)
