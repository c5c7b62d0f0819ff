"""The twins that decode records give the same records and the same errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.client.consumer import record_decoding
from kafka_zk.client.consumer.decoding import decode_batch
from kafka_zk.protocol.errors import InvalidRecord
from kafka_zk.record.builder import build_batch
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.types import Record

CREATE_TIME = TimestampType.CREATE_TIME
some_bytes = st.none() | st.binary(max_size=9)
some_records = st.lists(
    st.tuples(
        st.integers(0, 2**40),
        some_bytes,
        some_bytes,
        st.lists(st.tuples(st.text(max_size=3), some_bytes), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


def both(data: bytes, count: int, append_timestamp: int | None, first_offset: int) -> list[Any]:
    answers: list[Any] = []
    for decode in (decode_batch, record_decoding.decode_batch):
        try:
            answers.append(
                decode(
                    data,
                    61,
                    len(data),
                    count,
                    "t",
                    1,
                    100,
                    5,
                    append_timestamp,
                    CREATE_TIME,
                    3,
                    first_offset,
                )
            )
        except InvalidRecord as error:
            answers.append(str(error))
    return answers


def test_the_compiled_twin_is_the_one_that_runs() -> None:
    assert decode_batch.__module__ == "kafka_zk.client.consumer._record_decoding"


@given(made=some_records, append_timestamp=st.none() | st.integers(0, 9), first_offset=st.integers(98, 108))
def test_both_decode_the_same(made: list[Any], append_timestamp: int | None, first_offset: int) -> None:
    records = [
        Record(index, timestamp, key, value, headers) for index, (timestamp, key, value, headers) in enumerate(made)
    ]
    data = bytes(build_batch(records))
    compiled, pure = both(data, len(records), append_timestamp, first_offset)
    assert compiled == pure
    assert [type(record) for record in compiled] == [type(record) for record in pure]


@given(made=some_records, at=st.integers(61, 200), byte=st.integers(0, 255), off=st.integers(-2, 2))
def test_both_refuse_the_same_bytes_with_the_same_words(made: list[Any], at: int, byte: int, off: int) -> None:
    data = build_batch([Record(index, *rest) for index, rest in enumerate(made)])
    data[min(at, len(data) - 1)] = byte
    compiled, pure = both(bytes(data), len(made) + off, None, 0)
    assert compiled == pure


def test_records_outside_of_the_buffer_are_not_looked_for() -> None:
    with pytest.raises(ValueError, match="outside"):
        decode_batch(b"", 0, 9, 1, "t", 1, 0, 0, None, CREATE_TIME, None, 0)
