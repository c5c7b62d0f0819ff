"""The columns of records in Spark, and columns of records as Arrow batches.

Role        Pure. Same names, types and order as Spark's own connector for Kafka.
Source      Spark 4.2 KafkaRecordToRowConverter: a record without headers has null, a timestamp -1 is 1 ms before 1970.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kafka_zk.record.columns.layout import BytesColumn, Columns, HeaderColumns

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

BATCH_ROWS = 50_000
"""Rows of one Arrow batch: fewer cost Spark more calls, more of them memory."""
BATCH_BYTES = 16 * 1024 * 1024


def source_schema(*, include_headers: bool) -> StructType:
    """What a DataFrame read from topics has."""
    from pyspark.sql import types

    schema = types.StructType()
    schema.add("key", types.BinaryType()).add("value", types.BinaryType())
    schema.add("topic", types.StringType()).add("partition", types.IntegerType()).add("offset", types.LongType())
    schema.add("timestamp", types.TimestampType()).add("timestampType", types.IntegerType())
    if include_headers:
        header = types.StructType().add("key", types.StringType()).add("value", types.BinaryType())
        schema.add("headers", types.ArrayType(header))
    return schema


def arrow_schema(*, include_headers: bool) -> pa.Schema:
    """The same as Spark expects it from Arrow batches."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(source_schema(include_headers=include_headers), timezone="UTC")


class BatchMaker:
    """Columns of one partition's records to Arrow batches, without copying what they hold."""

    def __init__(self, topic: str, partition: int, *, include_headers: bool) -> None:
        self._schema = arrow_schema(include_headers=include_headers)
        self._topic = topic
        self._partition = partition
        self._topics = pa.repeat(pa.scalar(topic, pa.string()), 0)
        self._partitions = pa.repeat(pa.scalar(partition, pa.int32()), 0)

    def batch(self, columns: Columns) -> pa.RecordBatch:
        """One Arrow batch. Raises OverflowError for a timestamp that microseconds in 64 bits cannot express."""
        count = columns.row_count
        if count > len(self._topics):
            self._topics = pa.repeat(pa.scalar(self._topic, pa.string()), count)
            self._partitions = pa.repeat(pa.scalar(self._partition, pa.int32()), count)
        arrays = [
            _binary(columns.keys, count),
            _binary(columns.values, count),
            self._topics[:count],
            self._partitions[:count],
            _numbers(pa.int64(), columns.offsets, count),
            _timestamps(columns, count),
            _numbers(pa.int32(), columns.timestamp_types, count),
        ]
        if columns.headers is not None:
            arrays.append(_headers(columns.headers, count, self._schema.field("headers").type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _timestamps(columns: Columns, count: int) -> pa.Array:
    try:
        return _numbers(pa.timestamp("ms", tz="UTC"), columns.timestamps, count).cast(pa.timestamp("us", tz="UTC"))
    except pa.ArrowInvalid as error:
        raise OverflowError(f"a timestamp is too far from 1970 for Spark: {error}") from error


def _numbers(kind: pa.DataType, column: bytearray, count: int) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(column)])


def _binary(column: BytesColumn, count: int, kind: pa.DataType | None = None) -> pa.Array:
    validity = None if column.validity is None else pa.py_buffer(column.validity)
    buffers = [validity, pa.py_buffer(column.starts), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind or pa.binary(), count, buffers, null_count=column.null_count)


def _headers(headers: HeaderColumns, count: int, kind: pa.ListType) -> pa.Array:
    pairs = pa.StructArray.from_arrays(
        [
            _binary(headers.keys, headers.header_count, pa.string()),
            _binary(headers.values, headers.header_count),
        ],
        fields=list(kind.value_type),
    )
    validity = None if headers.validity is None else pa.py_buffer(headers.validity)
    return pa.Array.from_buffers(
        kind, count, [validity, pa.py_buffer(headers.starts)], null_count=headers.null_count, children=[pairs]
    )
