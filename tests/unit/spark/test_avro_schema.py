"""Avro schemas as Spark's types, and the prefix of Confluent's registry."""

from __future__ import annotations

import pytest

from kafka_zk.spark.jobs.avro_schema import as_mapped, parse_schema, sql_type, without_prefix
from kafka_zk.spark.jobs.outcome import JobError


def record(*fields: tuple[str, object], name: str = "r") -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("string", "STRING"),
        (["null", "long"], "BIGINT"),
        (["int", "long"], "BIGINT"),
        (["null", "float", "double"], "DOUBLE"),
        ({"type": "int", "logicalType": "date"}, "DATE"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "TIMESTAMP"),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, "TIMESTAMP_NTZ"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "TIMESTAMP_NTZ"),
        ({"type": "int", "logicalType": "time-millis"}, "INT"),
        ({"type": "long", "logicalType": "time-micros"}, "BIGINT"),
        ({"type": "string", "logicalType": "decimal", "precision": 9, "scale": 2}, "STRING"),
        (
            record(
                ("a", {"type": "fixed", "name": "f", "size": 4, "logicalType": "decimal", "precision": 9}), ("b", "f")
            ),
            "STRUCT<`a`: DECIMAL(9, 0), `b`: DECIMAL(9, 0)>",
        ),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "DECIMAL(9, 2)"),
        ({"type": "array", "items": "int"}, "ARRAY<INT>"),
        ({"type": "map", "values": ["null", "bytes"]}, "MAP<STRING, BINARY>"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "STRING"),
        (
            record(("a", "int"), ("b", record(("c", "boolean"), name="s"))),
            "STRUCT<`a`: INT, `b`: STRUCT<`c`: BOOLEAN>>",
        ),
        (record(("a", {"type": "fixed", "name": "f", "size": 4}), ("b", "f")), "STRUCT<`a`: BINARY, `b`: BINARY>"),
    ],
)
def test_types(schema: object, expected: str):
    assert sql_type(schema) == expected


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        (record(("next", ["null", "r"])), "unknown or recursive type 'r'"),
        (["string", "int"], "a union of string, int has no equivalent Spark type"),
        (["null"], "a union of only null"),
        (5, "has 5 where a type is expected"),
    ],
)
def test_what_spark_has_no_type_for_is_refused(schema: object, sentence: str):
    with pytest.raises(JobError, match=sentence):
        sql_type(schema)


def test_a_schema_that_is_no_json_is_refused():
    with pytest.raises(JobError, match="not valid JSON"):
        parse_schema("{")


def test_the_prefix_is_a_zero_byte_and_four_of_an_id():
    assert without_prefix(b"\x00\x00\x00\x00\x07rest") == b"rest"
    for value in (b"", b"\x00\x00\x00\x00", b"\x01\x00\x00\x00\x07rest"):
        with pytest.raises(ValueError, match="no Confluent prefix"):
            without_prefix(value)


def test_only_logical_types_that_have_a_type_are_decoded():
    date, time = {"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "time-millis"}
    schema = record(("a", date), ("b", ["null", time]), ("c", {"type": "array", "items": time}))
    plain = {"type": "int"}
    assert as_mapped(schema) == record(("a", date), ("b", ["null", plain]), ("c", {"type": "array", "items": plain}))
