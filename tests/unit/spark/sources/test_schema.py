"""Columns of records as Arrow batches that Spark takes."""

from __future__ import annotations

import pytest

from kafka_zk.record import Record
from kafka_zk.record.columns.building import ColumnBuilder
from kafka_zk.spark.sources.schema import BatchMaker, arrow_schema

RECORDS = [
    Record(5, 1000, b"k", None, (("h", b"x"), ("h", None))),
    Record(6, -1, None, b"", ()),
    Record(9, 1001, b"", b"value", (("", b""),)),
]


def test_a_batch_has_the_rows_of_its_records() -> None:
    columns = ColumnBuilder(with_headers=True)
    for record in RECORDS:
        columns.append_record(record, 0)
    batch = BatchMaker("topic", 3, include_headers=True).batch(columns.take())
    batch.validate(full=True)
    assert batch.schema == arrow_schema(include_headers=True)
    rows = batch.to_pylist()
    assert [(row["key"], row["value"], row["offset"]) for row in rows] == [
        (record.key, record.value, record.offset) for record in RECORDS
    ]
    assert {(row["topic"], row["partition"], row["timestampType"]) for row in rows} == {("topic", 3, 0)}
    assert [row.timestamp() for row in batch.column("timestamp").to_pylist()] == [1.0, -0.001, 1.001]
    assert [row["headers"] for row in rows] == [
        [{"key": "h", "value": b"x"}, {"key": "h", "value": None}],
        None,
        [{"key": "", "value": b""}],
    ]


def test_without_headers_there_is_no_column_for_them() -> None:
    columns = ColumnBuilder(with_headers=False)
    maker = BatchMaker("t", 0, include_headers=False)
    columns.append_record(RECORDS[0], 1)
    assert maker.batch(columns.take()).schema == arrow_schema(include_headers=False)
    assert maker.batch(columns.take()).num_rows == 0


def test_a_timestamp_that_spark_cannot_hold_is_told() -> None:
    columns = ColumnBuilder(with_headers=False)
    columns.append_record(Record(0, 2**62, None, None), 0)
    with pytest.raises(OverflowError, match="too far from 1970"):
        BatchMaker("t", 0, include_headers=False).batch(columns.take())
