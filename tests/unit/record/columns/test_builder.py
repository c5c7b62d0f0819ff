"""The compiled builder of columns and its pure twin: the same buffers and the same errors, whatever the bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_zk.protocol.errors import InvalidRecord
from kafka_zk.record import Record, walker
from kafka_zk.record.columns import builder
from kafka_zk.record.columns.building import BUILDER
from tests.unit.record.columns.reading import rows
from tests.unit.record.strategies import record_lists

_builder = pytest.importorskip("kafka_zk.record.columns._builder", reason="the compiled builder is not built")

INT64 = st.integers(-(2**63), 2**63 - 1)
TWINS = pytest.mark.parametrize("twin", [builder, _builder], ids=["pure", "compiled"])
EVERYTHING = (-(2**63), 2**63 - 1)

fields = st.none() | st.binary(max_size=5)
headers = st.lists(st.tuples(st.text(max_size=3), fields), max_size=2).map(tuple)
small_records = st.lists(st.tuples(st.integers(-1, 2**40), fields, fields, headers), max_size=10).map(
    lambda rows: [Record(index, *row) for index, row in enumerate(rows)]
)


def appended(columns: Any, *arguments: Any) -> Any:
    try:
        return columns.append(*arguments)
    except (InvalidRecord, ValueError) as error:
        return type(error), str(error)


def pair(*, with_headers: bool) -> tuple[Any, Any]:
    return builder.ColumnBuilder(with_headers=with_headers), _builder.ColumnBuilder(with_headers=with_headers)


def test_the_compiled_builder_is_the_one_that_runs() -> None:
    assert BUILDER == "compiled"


@settings(max_examples=300)
@given(st.lists(small_records, max_size=4), st.data(), st.booleans())
def test_the_twins_build_the_same_columns_from_damaged_batches(
    batches: list[list[Record]], data: st.DataObject, with_headers: bool
) -> None:
    pure, compiled = pair(with_headers=with_headers)
    for records in batches:
        payload = bytearray(walker.encode(records, 0, 5))
        for _ in range(data.draw(st.sampled_from([0, 0, 0, 1, 2])) if payload else 0):
            payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
        end = data.draw(st.sampled_from([len(payload), len(payload), max(0, len(payload) - 1)]))
        count = len(records) + data.draw(st.sampled_from([0, 0, 0, -1, 1]))
        base_offset, base_timestamp, log_append_time = data.draw(INT64), data.draw(INT64), data.draw(INT64)
        within = min(base_offset, 2**63 - 4)
        wanted = data.draw(st.sampled_from([EVERYTHING, (within + 1, within + 3)]))
        arguments = (payload, 0, end, count, base_offset, base_timestamp, *wanted, data.draw(st.integers(-1, 1)))
        assert appended(pure, *arguments, log_append_time) == appended(compiled, *arguments, log_append_time)
        assert (pure.row_count, pure.size_bytes) == (compiled.row_count, compiled.size_bytes)
        if data.draw(st.booleans()):
            assert pure.take() == compiled.take()
    assert pure.take() == compiled.take()


@given(record_lists(), st.booleans(), st.integers(-1, 1))
def test_the_twins_take_single_records_alike(records: list[Record], with_headers: bool, kind: int) -> None:
    pure, compiled = pair(with_headers=with_headers)
    for record in records:
        pure.append_record(record, kind)
        compiled.append_record(record, kind)
    assert (pure.row_count, pure.size_bytes) == (compiled.row_count, compiled.size_bytes)
    assert pure.take() == compiled.take()


@TWINS
@given(record_lists(max_size=20), st.integers(0, 2**60), st.integers(0, 10), st.integers(0, 10))
def test_the_columns_hold_the_records_of_the_range(
    twin: Any, records: list[Record], base_offset: int, first: int, length: int
) -> None:
    moved = [record._replace(offset=base_offset + record.offset) for record in records]
    payload = walker.encode(moved, base_offset, 7)
    columns = twin.ColumnBuilder(with_headers=True)
    end_offset = base_offset + first + length
    columns.append(payload, 0, len(payload), len(moved), base_offset, 7, base_offset + first, end_offset, 0, -1)
    assert rows(columns.take()) == [(record, 0) for record in moved[first : first + length]]
    assert rows(columns.take()) == []


@TWINS
def test_with_log_append_time_every_record_has_the_batch_s(twin: Any) -> None:
    payload = walker.encode([Record(0, 1, None, b"a"), Record(1, 2, None, b"b")], 0, 0)
    columns = twin.ColumnBuilder(with_headers=False)
    columns.append(payload, 0, len(payload), 2, 0, 0, *EVERYTHING, 1, 99)
    assert [(record.timestamp, kind) for record, kind in rows(columns.take())] == [(99, 1), (99, 1)]


@TWINS
def test_of_a_batch_whose_end_is_malformed_nothing_is_taken(twin: Any) -> None:
    payload = walker.encode([Record(0, 1, b"k", b"v", (("h", b"x"),)), Record(1, 2, None, b"b")], 0, 0)
    columns = twin.ColumnBuilder(with_headers=True)
    columns.append(payload, 0, len(payload), 2, 0, 0, *EVERYTHING, 0, -1)
    with pytest.raises(InvalidRecord):
        columns.append(payload, 0, len(payload), 3, 2, 0, *EVERYTHING, 0, -1)
    assert columns.size_bytes == 5
    assert len(rows(columns.take())) == 2


@TWINS
def test_nulls_come_after_records_that_were_given_up(twin: Any) -> None:
    columns = twin.ColumnBuilder(with_headers=False)
    columns.append_record(Record(0, 1, None, None), 0)
    payload = walker.encode([Record(1, 1, b"k", b"v")], 0, 0)
    with pytest.raises(InvalidRecord):
        columns.append(payload, 0, len(payload), 2, 0, 0, *EVERYTHING, 0, -1)
    columns.append_record(Record(2, 1, None, b""), 0)
    assert [record.key for record, _ in rows(columns.take())] == [None, None]


@TWINS
def test_header_keys_that_are_not_utf_8_are_mended(twin: Any) -> None:
    payload = walker.encode([Record(0, 1, None, None, (("ab", None), ("é", b"1")))], 0, 0).replace(b"ab", b"\xffb")
    columns = twin.ColumnBuilder(with_headers=True)
    columns.append(payload, 0, len(payload), 1, 0, 0, *EVERYTHING, 0, -1)
    assert rows(columns.take())[0][0].headers == (("\ufffdb", None), ("é", b"1"))


@TWINS
def test_positions_outside_the_buffer_are_refused(twin: Any) -> None:
    with pytest.raises(ValueError, match="inside the buffer"):
        twin.ColumnBuilder(with_headers=False).append(b"abc", 1, 4, 1, 0, 0, *EVERYTHING, 0, -1)


@TWINS
def test_headers_count_against_what_positions_can_tell(twin: Any) -> None:
    large = bytes(64 << 20)
    columns = twin.ColumnBuilder(with_headers=True)
    with pytest.raises(OverflowError):
        columns.append_record(Record(0, 1, None, None, (("h", large),) * 32), 0)
    assert rows(columns.take()) == []


@TWINS
def test_columns_taken_stay_as_they_are(twin: Any) -> None:
    columns = twin.ColumnBuilder(with_headers=True)
    columns.append_record(Record(3, 4, b"key", b"value", (("h", None),)), 0)
    taken = columns.take()
    before = rows(taken)
    columns.append_record(Record(5, 6, b"other", None), 1)
    columns.take()
    assert rows(taken) == before
