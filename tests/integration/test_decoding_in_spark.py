"""Values that Spark decodes: what is not one whole value of the schema is named or null, never passed over."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from kafka_zk.spark.jobs.decoding import decoded
from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.settings.declaration import Settings
from kafka_zk.spark.settings.jobs import TRANSFORM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Decode = Callable[..., Any]
GIVEN = {"bootstrap-server": "b:1", "topics": ["t"], "sql": "SELECT 1", "to-topic": "u"}


@pytest.fixture
def decode(spark: SparkSession) -> Decode:
    """(values, schema, more settings) -> the decoded values, as plain data; the offset is their place in the list."""

    def decode(values: list[bytes | None], schema: str, **more: object) -> list[Any]:
        rows = [(value, "t", 0, offset) for offset, value in enumerate(values)]
        records = spark.createDataFrame(rows, "value BINARY, topic STRING, partition INT, offset BIGINT")
        settings = Settings(TRANSFORM, {**GIVEN, "decode": "json", "schema": schema, **more})
        found = decoded(records, settings).orderBy("offset").select("value").collect()
        return [row.value.asDict(recursive=True) if hasattr(row.value, "asDict") else row.value for row in found]

    return decode


BAD = (
    b"", b"   ", b"no json", b'{"a": 1} trailing', b'{"a": 1}{"a": 2}', b'{"a": 1}} x', b'{"a": 1', b"5", b"null",
    b'{"a": 1},"b":{"a": 2}', b'{"a": 1},', b'{"a": 1},{"a": 2}', b'[{"a": 1}]', b"\xff\xfe",
)  # fmt: skip
PARTLY = (b'{"a": "x", "b": 2}', b'{"a": 99999999999, "b": 2}')


def test_what_is_no_json_of_the_schema_from_end_to_end_fails_the_job(decode: Decode) -> None:
    for value in (*BAD, *PARTLY):
        with pytest.raises(Exception, match="the value of topic t, partition 0, offset 1 is not valid JSON"):
            decode([b'{"a": 1}', value], "a INT, b INT")


def test_or_it_is_null_and_so_are_the_fields_that_do_not_fit(decode: Decode) -> None:
    found = decode([*BAD, *PARTLY], "a INT, b INT", **{"bad-values": "null"})
    assert found == [None] * len(BAD) + [{"a": None, "b": 2}] * len(PARTLY)


@pytest.mark.parametrize("bad_values", ["fail", "null"])
@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ("a INT, b INT", b' {"a": 1}\n', {"a": 1, "b": None}),
        ("STRUCT<a: INT>", b'{"a": 1}', {"a": 1}),
        ("ARRAY<INT>", b"[1, 2]", [1, 2]),
        ("MAP<STRING, INT>", b'{"x": 1}', {"x": 1}),
        ("value INT, end INT, bad STRING", b'{"value": 1, "end": 2, "bad": "b"}', {"value": 1, "end": 2, "bad": "b"}),
    ],
)
def test_any_type_of_sql_is_a_schema(
    decode: Decode, bad_values: str, schema: str, value: bytes, expected: object
) -> None:
    assert decode([value, None], schema, **{"bad-values": bad_values}) == [expected, None]


def test_what_is_no_type_of_sql_is_refused(decode: Decode) -> None:
    with pytest.raises(JobError, match="cannot parse the schema"):
        decode([b"{}"], "a INTEGRE, b")


def test_avro_s_logical_types_are_spark_s(decode: Decode) -> None:
    at, length = datetime(2020, 1, 2, 3, 4, 5, 6000), {"type": "fixed", "name": "f", "size": 4}
    values: dict[str, tuple[Any, Any, Any]] = {
        "local_ms": ({"type": "long", "logicalType": "local-timestamp-millis"}, at, at),
        "local_us": ({"type": "long", "logicalType": "local-timestamp-micros"}, at, at),
        "time_ms": ({"type": "int", "logicalType": "time-millis"}, 3_723_000, 3_723_000),
        "time_us": ({"type": "long", "logicalType": "time-micros"}, 3_723_000_000, 3_723_000_000),
        "money": ({**length, "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("1.25"), Decimal("1.25")),
        "again": ("f", Decimal("1.50"), Decimal("1.50")),
    }
    fields = [{"name": name, "type": kind} for name, (kind, _, _) in values.items()]
    schema = {"type": "record", "name": "r", "fields": fields}
    stream = io.BytesIO()
    fastavro.schemaless_writer(
        stream, json.loads(json.dumps(schema)), {name: given for name, (_, given, _) in values.items()}
    )
    (found,) = decode([stream.getvalue()], json.dumps(schema), decode="avro")
    assert found == {name: expected for name, (_, _, expected) in values.items()}
