"""The cleaner's decisions by themselves: what is worth cleaning, what belongs together, how fast it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from kafka_zk.log.cleaner.choosing import MAX_INT64, LogFacts, Reset, between, dirt_of, filthiest
from kafka_zk.log.cleaner.grouping import group_segments
from kafka_zk.log.cleaner.stats import CleanerStats
from kafka_zk.log.cleaner.throttle import Throttle
from kafka_zk.log.cleaner.transactions import CleanedTransactions
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.record.control import ControlType

NOW = 1_000_000


@dataclass
class Segment:
    base_offset: int
    size_bytes: int = 100
    largest_timestamp: int = 0
    first_batch_timestamp: int = 1
    offset_index_bytes: int = 8
    time_index_bytes: int = 12


def a_log(*segments: Segment, **facts: Any) -> LogFacts:
    given: dict[str, Any] = {
        "log_start_offset": segments[0].base_offset,
        "log_end_offset": segments[-1].base_offset + 10,
        "last_stable_offset": segments[-1].base_offset + 10,
        "min_compaction_lag_ms": 0,
        "max_compaction_lag_ms": MAX_INT64,
        "min_cleanable_dirty_ratio": 0.5,
        "is_deleted_from": False,
    }
    return LogFacts(segments, **{**given, **facts})


THREE = (Segment(0), Segment(10), Segment(20))


@pytest.mark.parametrize(
    ("checkpoint", "facts", "first_dirty", "reset"),
    [
        (None, {}, 0, None),
        (10, {}, 10, None),
        (30, {}, 30, None),
        (31, {}, 0, Reset.ABOVE_LOG_END),
        (5, {"log_start_offset": 7}, 7, Reset.BELOW_LOG_START),
        (None, {"log_start_offset": 7}, 7, None),
    ],
)
def test_a_cleaning_begins_at_the_checkpoint_where_that_can_be(
    checkpoint: int | None, facts: dict[str, Any], first_dirty: int, reset: Reset | None
) -> None:
    offsets = dirt_of(a_log(*THREE, **facts), checkpoint, NOW).offsets
    assert (offsets.first_dirty_offset, offsets.reset) == (first_dirty, reset)


@pytest.mark.parametrize(("stable", "uncleanable"), [(30, 20), (21, 20), (20, 20), (19, 10), (10, 10), (9, 0), (0, 0)])
def test_only_whole_segments_below_the_last_stable_offset_and_the_active_one_are_cleaned(
    stable: int, uncleanable: int
) -> None:
    dirt = dirt_of(a_log(*THREE, last_stable_offset=stable), None, NOW)
    assert dirt.offsets.first_uncleanable_offset == uncleanable
    assert dirt.cleanable_bytes == 10 * uncleanable


@pytest.mark.parametrize(("lag_ms", "uncleanable"), [(0, 20), (50, 20), (100, 20), (101, 10), (500, 0)])
def test_young_segments_wait_for_the_minimum_lag(lag_ms: int, uncleanable: int) -> None:
    log = a_log(
        Segment(0, largest_timestamp=NOW - 400),
        Segment(10, largest_timestamp=NOW - 100),
        Segment(20, largest_timestamp=NOW),
        min_compaction_lag_ms=lag_ms,
    )
    assert dirt_of(log, None, NOW).offsets.first_uncleanable_offset == uncleanable


@pytest.mark.parametrize(("ratio", "is_worth"), [(0.4, True), (0.5, False), (0.6, False)])
def test_a_log_is_cleaned_when_its_dirty_share_is_above_the_limit_not_at_it(ratio: float, is_worth: bool) -> None:
    dirt = dirt_of(a_log(*THREE, min_cleanable_dirty_ratio=ratio), 10, NOW)
    assert dirt.cleanable_ratio == 0.5
    assert dirt.is_worth_cleaning == is_worth


@pytest.mark.parametrize(
    ("first_timestamp", "delay_ms"), [(NOW - 1000, 0), (NOW - 1001, 1), (NOW - 3000, 2000), (0, 0), (-1, 0)]
)
def test_what_waited_longer_than_the_maximum_lag_is_cleaned_whatever_the_share(
    first_timestamp: int, delay_ms: int
) -> None:
    log = a_log(
        Segment(0, size_bytes=10_000),
        Segment(10, first_batch_timestamp=first_timestamp),
        Segment(20, first_batch_timestamp=1),
        max_compaction_lag_ms=1000,
    )
    dirt = dirt_of(log, 10, NOW)
    assert dirt.compaction_delay_ms == delay_ms
    assert dirt.is_worth_cleaning == (delay_ms > 0)
    nothing = dirt_of(log._replace(last_stable_offset=10), 10, NOW)
    assert not nothing.is_worth_cleaning, "there must be something to clean, too"


def test_the_dirtiest_log_comes_first() -> None:
    half = dirt_of(a_log(*THREE, min_cleanable_dirty_ratio=0.1), 10, NOW)
    whole = dirt_of(a_log(*THREE, min_cleanable_dirty_ratio=0.1), 0, NOW)
    clean = dirt_of(a_log(*THREE), 20, NOW)
    empty = dirt_of(a_log(Segment(0, 0)), None, NOW)
    assert filthiest([("half", half), ("whole", whole), ("clean", clean)]) == ("whole", whole)
    assert filthiest([("clean", clean), ("empty", empty)]) is None


@pytest.mark.parametrize(
    ("start", "end", "bases"),
    [(0, 30, [0, 10, 20]), (5, 20, [0, 10]), (10, 20, [10]), (10, 21, [10, 20]), (10, 10, []), (25, 99, [20])],
)
def test_a_range_of_offsets_lies_in_segments(start: int, end: int, bases: list[int]) -> None:
    assert [each.base_offset for each in between(THREE, start, end)] == bases


def grouped(*segments: Segment, end: int = 100, segment_bytes: int = 1000, index_bytes: int = 1000) -> list[list[int]]:
    groups = group_segments(
        segments, segment_bytes=segment_bytes, index_bytes=index_bytes, first_uncleanable_offset=end
    )
    return [[each.base_offset for each in group] for group in groups]


def test_neighbours_are_grouped_up_to_the_limits() -> None:
    four = [Segment(base) for base in (0, 10, 20, 30)]
    assert grouped(*four) == [[0, 10, 20, 30]]
    assert grouped(*four, segment_bytes=200) == [[0, 10], [20, 30]]
    assert grouped(*four, segment_bytes=199) == [[0], [10], [20], [30]]
    assert grouped(*four, index_bytes=36) == [[0, 10, 20], [30]]
    assert grouped(Segment(0, 0), Segment(5, 5000), Segment(9, 0)) == [[0], [5], [9]]
    assert grouped() == []


def test_offsets_of_a_group_fit_behind_its_base() -> None:
    limit = 2**31 - 1
    two = [Segment(0), Segment(10)]
    assert grouped(*two, end=limit + 1) == [[0, 10]]
    assert grouped(*two, end=limit + 2) == [[0], [10]]
    assert grouped(Segment(0), Segment(limit + 5, 0), end=limit + 9) == [[0, limit + 5]], "an empty one adds none"
    assert grouped(Segment(0), Segment(10), Segment(limit + 1), end=limit + 20) == [[0, 10], [limit + 1]]
    assert grouped(Segment(0), Segment(10), Segment(limit + 2), end=limit + 20) == [[0], [10], [limit + 2]]


def test_a_marker_stays_while_a_batch_of_its_transaction_was_seen() -> None:
    known = CleanedTransactions()
    aborted = AbortedTransaction(producer_id=1, first_offset=3, last_offset=9, last_stable_offset=10)
    known.expect([aborted])
    known.expect([aborted])
    assert not known.is_aborted_data(1, 2, is_transactional=True), "of a transaction that was committed before"
    assert not known.may_discard_marker(1, 2, ControlType.COMMIT)
    assert known.is_aborted_data(1, 4, is_transactional=True)
    assert not known.is_aborted_data(2, 5, is_transactional=True)
    assert not known.is_aborted_data(1, 6, is_transactional=False)
    assert not known.may_discard_marker(1, 9, ControlType.ABORT)
    assert known.take_kept() == [aborted]
    assert known.take_kept() == []
    assert not known.may_discard_marker(2, 10, ControlType.COMMIT)
    assert known.may_discard_marker(2, 11, ControlType.COMMIT), "nothing is left of the next one"
    assert known.may_discard_marker(1, 12, ControlType.ABORT)
    assert known.may_discard_marker(1, 13, None)
    assert not known.may_discard_marker(1, 14, ControlType.UNKNOWN)


def test_the_throttle_makes_who_was_too_fast_rest() -> None:
    noted: list[int] = []
    throttle = Throttle(1000, now_ms=0, note_bytes=noted.append)
    assert throttle.rest_after(200, 100) == 0, "not looked at yet"
    assert throttle.rest_after(200, 301) == 99
    assert throttle.rest_after(100, 801) == 0, "slow enough"
    assert throttle.rest_after(1000, 1300) == 501
    assert sum(noted) == 1500
    assert throttle.bytes_at_once(64) == 300
    assert throttle.bytes_at_once(1024) == 1024
    assert Throttle(float("inf"), now_ms=0, note_bytes=noted.append).rest_after(1 << 40, 1000) == 0


@pytest.mark.parametrize("cleaner_count", [1, 2, 5])
def test_the_throttle_holds_for_all_cleaners_together(cleaner_count: int) -> None:
    """While one rests the others rest, too: else one of them would always be free."""
    throttle = Throttle(1_000_000, now_ms=0, note_bytes=lambda size_bytes: None)
    working = [(0, cleaner) for cleaner in range(cleaner_count)]
    done_bytes = 0
    while (due := min(working))[0] < 60_000:
        working.remove(due)
        now_ms, cleaner = due[0] + 6, due[1]  # As quick as a disk is.
        done_bytes += 300_000
        working.append((now_ms + throttle.rest_after(300_000, now_ms), cleaner))
    assert done_bytes / due[0] == pytest.approx(1_000, rel=0.05)


def test_a_rest_under_one_limit_is_none_under_the_next() -> None:
    throttle = Throttle(1, now_ms=0, note_bytes=lambda size_bytes: None)
    assert throttle.rest_after(1_000_000, 1000) == 999_999_000
    throttle.allow(1_000_000, now_ms=2000)
    assert throttle.rest_after(1_000_000, 2100) == 0, "not looked at yet"
    assert throttle.rest_after(1_000_000, 2500) == 1500, "and not free until the old rest would have ended"


@pytest.mark.parametrize("limit", [0, 5e-324])
def test_a_limit_of_nothing_lets_cleaners_rest_until_it_changes(limit: float) -> None:
    throttle = Throttle(limit, now_ms=0, note_bytes=lambda size_bytes: None)
    assert throttle.rest_after(1, 1000) > 20 * 86_400_000
    throttle.allow(1000, now_ms=2000)
    assert 199 <= throttle.rest_after(500, 2301) <= 200


def test_a_cleaning_is_told_in_kafkas_words() -> None:
    stats = CleanerStats(
        mapped_bytes=5 << 20, read_bytes=10 << 20, read_count=364, written_bytes=1 << 20, written_count=30,
        buffer_utilization=0.25, map_ms=1000, elapsed_ms=4000,
    )  # fmt: skip
    assert stats.describe(0, "t-0", 0, 364).splitlines() == [
        "",
        "\tLog cleaner thread 0 cleaned log t-0 (dirty section = [0, 364])",
        "\t10.0 MB of log processed in 4.0 seconds (2.5 MB/sec).",
        "\tIndexed 5.0 MB in 1.0 seconds (5.0 Mb/sec, 25.0% of total time)",
        "\tBuffer utilization: 25.0%",
        "\tCleaned 10.0 MB in 3.0 seconds (3.3 Mb/sec, 75.0% of total time)",
        "\tStart size: 10.0 MB (364 messages)",
        "\tEnd size: 1.0 MB (30 messages)",
        "\t90.0% size reduction (91.8% fewer messages)",
    ]
    assert CleanerStats().describe(1, "t-0", 0, 0), "also of nothing"
