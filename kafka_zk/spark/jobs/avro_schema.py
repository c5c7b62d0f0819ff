"""Maps Avro schemas to Spark types, and strips Confluent's prefix.

Role        Pure: plain data in, SQL type texts out.
Framing     plain: the value is the record's bytes. confluent: a zero byte, four bytes of the writer's schema id (big
            endian), then the record's bytes. The schema is given; no registry is used, the id is ignored.
Source      Avro 1.11 specification; Spark's own mapping (SchemaConverters) for the types.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kafka_zk.spark.jobs.outcome import JobError

MAGIC = 0
PREFIX_BYTES = 5

_PRIMITIVES = {
    "null": "VOID",
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "bytes": "BINARY",
    "string": "STRING",
}
_LOGICAL = {
    ("int", "date"): "DATE",
    ("long", "timestamp-millis"): "TIMESTAMP",
    ("long", "timestamp-micros"): "TIMESTAMP",
    ("long", "local-timestamp-millis"): "TIMESTAMP_NTZ",
    ("long", "local-timestamp-micros"): "TIMESTAMP_NTZ",
    ("string", "uuid"): "STRING",
}


def parse_schema(text: str) -> object:
    """The schema as plain data. Raises JobError."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise JobError(f"the Avro schema is not valid JSON: {error}") from None


def sql_type(schema: object, named: Mapping[str, str] | None = None) -> str:
    """A Spark SQL type. Raises JobError for what Spark has no type for: recursion, unions of several real types."""
    known = dict(named or {})
    return _type_of(schema, known)


def _type_of(schema: object, named: dict[str, str]) -> str:
    if isinstance(schema, str):
        found = _PRIMITIVES.get(schema) or named.get(schema) or named.get(schema.rpartition(".")[2])
        if not found:
            raise JobError(f"the Avro schema names an unknown or recursive type {schema!r}")
        return found
    if isinstance(schema, list):
        return _union(schema, named)
    if not isinstance(schema, dict):
        raise JobError(f"the Avro schema has {schema!r} where a type is expected")
    kind = schema.get("type")
    if logical := _logical(schema):
        return _remember(schema, logical, named) if kind == "fixed" else logical
    if kind == "record":
        fields = (f"`{field['name']}`: {_type_of(field['type'], named)}" for field in schema["fields"])
        return _remember(schema, f"STRUCT<{', '.join(fields)}>", named)
    if kind == "array":
        return f"ARRAY<{_type_of(schema['items'], named)}>"
    if kind == "map":
        return f"MAP<STRING, {_type_of(schema['values'], named)}>"
    if kind == "enum":
        return _remember(schema, "STRING", named)
    if kind == "fixed":
        return _remember(schema, "BINARY", named)
    return _type_of(kind, named)


def _logical(schema: Mapping[str, object]) -> str | None:
    """The type of a logical type; None where its values are those of the plain type."""
    kind, logical = schema.get("type"), schema.get("logicalType")
    if kind in ("bytes", "fixed") and logical == "decimal":
        return f"DECIMAL({schema['precision']}, {schema.get('scale', 0)})"
    return _LOGICAL.get((str(kind), str(logical)))


def as_mapped(schema: Any) -> Any:
    """The schema to decode with, whose values are of `sql_type`.

    It lacks the logical types that have no type there (time-millis, for example): a decoder that supports more of them
    would return other values than the plain ones.
    """
    if isinstance(schema, list):
        return [as_mapped(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: as_mapped(value) if key in ("type", "items", "values") else value for key, value in schema.items()}
    if "fields" in schema:
        found["fields"] = [{**field, "type": as_mapped(field["type"])} for field in schema["fields"]]
    if _logical(schema) is None:
        found.pop("logicalType", None)
    return found


def _union(branches: list[object], named: dict[str, str]) -> str:
    real = [branch for branch in branches if branch != "null"]
    if len(real) == 1:
        return _type_of(real[0], named)
    if sorted(map(str, real)) == ["int", "long"]:
        return "BIGINT"
    if sorted(map(str, real)) == ["double", "float"]:
        return "DOUBLE"
    raise JobError(f"a union of {', '.join(map(str, real)) or 'only null'} has no equivalent Spark type")


def _remember(schema: Mapping[str, object], text: str, named: dict[str, str]) -> str:
    named[str(schema.get("name"))] = text
    return text


def without_prefix(value: bytes) -> bytes:
    """The Avro bytes behind Confluent's prefix. Raises ValueError."""
    if len(value) < PREFIX_BYTES or value[0] != MAGIC:
        raise ValueError(f"no Confluent prefix (a zero byte and a schema id) in a value of {len(value)} bytes")
    return value[PREFIX_BYTES:]
