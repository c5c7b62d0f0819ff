from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.log.files.offset_index import OffsetIndex, OffsetPosition
from kafka_zk.log.files.time_index import TimeIndex, TimestampOffset
from kafka_zk.log.files.transaction_index import AbortedTransaction, CorruptIndex, TransactionIndex

BASE = 1000


@pytest.fixture
def offsets(tmp_path: Path) -> OffsetIndex:
    return OffsetIndex(tmp_path / "i", BASE, 100)


@pytest.fixture
def times(tmp_path: Path) -> TimeIndex:
    return TimeIndex(tmp_path / "t", BASE, 100)


def test_a_lookup_finds_the_last_entry_at_or_before_an_offset(offsets: OffsetIndex) -> None:
    for offset, position in ((1010, 100), (1020, 250), (1030, 300)):
        offsets.append(offset, position)
    assert offsets.lookup(1009) == (BASE, 0)
    assert offsets.lookup(1010) == (1010, 100)
    assert offsets.lookup(1029) == (1020, 250)
    assert offsets.lookup(5000) == (1030, 300)


def test_an_upper_bound_is_the_first_entry_behind_a_stretch_of_bytes(offsets: OffsetIndex) -> None:
    assert offsets.upper_bound(0, 1) is None
    offsets.append(1010, 100)
    offsets.append(1020, 250)
    assert offsets.upper_bound(0, 100) == (1010, 100)
    assert offsets.upper_bound(50, 51) == (1020, 250)
    assert offsets.upper_bound(100, 151) is None


def test_an_index_has_room_for_as_many_entries_as_fit_and_is_trimmed_to_those_it_has(offsets: OffsetIndex) -> None:
    offsets.append(1001, 0)
    assert offsets.file.path.stat().st_size == 96
    assert not offsets.is_full
    for number in range(11):
        offsets.append(1002 + number, number + 1)
    assert offsets.is_full
    offsets.truncate_to(1003)
    offsets.file.trim()
    assert offsets.file.path.stat().st_size == 16
    assert offsets.entries() == [(1001, 0), (1002, 1)]


def test_a_time_index_is_full_one_entry_early(times: TimeIndex) -> None:
    for number in range(7):
        assert not times.is_full
        times.maybe_append(number, BASE + number)
    assert times.is_full
    assert times.maybe_append(100, BASE + 100, skip_full_check=True)


def test_a_time_index_passes_over_timestamps_that_are_not_larger(times: TimeIndex) -> None:
    assert times.maybe_append(50, 1001)
    assert not times.maybe_append(50, 1002)
    assert not times.maybe_append(49, 1003)
    assert times.entries() == [(50, 1001)]
    assert times.lookup(49) == (-1, BASE)
    assert times.lookup(50) == times.lookup(51) == (50, 1001)


def test_an_index_read_from_a_trimmed_file_goes_on_where_it_ended(tmp_path: Path) -> None:
    first = OffsetIndex(tmp_path / "i", BASE, 100)
    first.append(1005, 10)
    first.file.trim()
    first.file.close()
    second = OffsetIndex(tmp_path / "i", BASE, 100)
    assert second.lookup(2000) == (1005, 10)
    second.append(1006, 20)
    assert second.entries() == [(1005, 10), (1006, 20)]


def test_an_index_that_was_closed_meanwhile_opens_again_for_the_next_entry(offsets: OffsetIndex) -> None:
    offsets.append(1005, 10)
    offsets.file.close()
    offsets.append(1006, 20)
    assert offsets.entries() == [(1005, 10), (1006, 20)]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 500)), max_size=40), st.integers(-5, 2500))
def test_an_offset_index_agrees_with_a_list(steps: list[tuple[int, int]], wanted: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        index, model, offset, position = OffsetIndex(Path(folder) / "i", BASE, 400), [], BASE - 1, 0
        for step, size in steps:
            offset, position = offset + step, position + size
            index.append(offset, position)
            model.append(OffsetPosition(offset, position))
        target = BASE + wanted
        slot = bisect_right(model, target, key=lambda entry: entry.offset)
        assert index.lookup(target) == (model[slot - 1] if slot else (BASE, 0))
        index.truncate_to(target)
        assert index.entries() == [entry for entry in model if entry.offset < target]
        index.file.close()


@given(st.lists(st.tuples(st.integers(-20, 50), st.integers(0, 50)), max_size=30), st.integers(-5, 900))
def test_a_time_index_agrees_with_a_list(steps: list[tuple[int, int]], wanted: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        index, model, timestamp, offset = TimeIndex(Path(folder) / "t", BASE, 400), [], 0, BASE
        for step, distance in steps:
            timestamp, offset = max(0, timestamp + step), offset + distance
            if index.maybe_append(timestamp, offset):
                model.append(TimestampOffset(timestamp, offset))
        slot = bisect_right(model, wanted, key=lambda entry: entry.timestamp)
        assert index.lookup(wanted) == (model[slot - 1] if slot else (-1, BASE))
        index.truncate_to(BASE + wanted)
        assert index.entries() == [entry for entry in model if entry.offset < BASE + wanted]
        index.file.close()


def test_a_transaction_index_exists_only_with_entries_and_is_cut_with_the_log(tmp_path: Path) -> None:
    index = TransactionIndex(tmp_path / "x", BASE)
    index.truncate_to(0)
    index.reset()
    assert not index.path.exists()
    first, second = AbortedTransaction(1, 1000, 1005, 1006), AbortedTransaction(2, 1003, 1010, 1011)
    index.append(first)
    index.append(second)
    index.sanity_check()
    assert index.path.stat().st_size == 68
    index.truncate_to(1010)
    assert TransactionIndex(tmp_path / "x", BASE).entries() == [first]


@pytest.mark.parametrize("content", [b"\0" * 33, b"\0\1" + b"\0" * 32, b"\0" * 34])
def test_a_transaction_index_that_contradicts_itself_is_corrupt(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(CorruptIndex):
        TransactionIndex(tmp_path / "x", BASE).sanity_check()
