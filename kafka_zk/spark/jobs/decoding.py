"""Decodes the column `value` as JSON, Avro or text.

Role        Builds plans; the Avro decoder runs in workers.
Invariants  A null value (a tombstone) stays null. A value that cannot be decoded, or only in part, fails the job with a
            sentence, or is null when the job says bad-values = null; it is never dropped silently. With null,
            JSON that does not fit the schema in some fields keeps the others.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_zk.spark.jobs.avro_schema import as_mapped, parse_schema, sql_type, without_prefix
from kafka_zk.spark.jobs.outcome import JobError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafka_zk.spark.settings.declaration import Settings

PLACE = ("topic", "partition", "offset")


def decoded(records: DataFrame, settings: Settings) -> DataFrame:
    """The same columns with `value` decoded. Raises JobError for a missing or invalid schema."""
    from pyspark.sql import functions as F

    kind = settings.text("decode")
    if kind == "bytes":
        return records
    if kind == "string":
        return records.withColumn("value", F.col("value").cast("string"))
    schema = text_or_file(settings.text("schema"))
    if not schema:
        raise JobError(f"decode = {kind} requires a schema")
    strict = settings.text("bad-values") == "fail"
    if kind == "json":
        return _json(records, schema, strict=strict)
    parsed = parse_schema(schema)
    decode = F.udf(avro_decoder(parsed, framing=settings.text("avro-framing"), strict=strict), sql_type(parsed))
    return records.withColumn("value", decode("value", *PLACE))


def text_or_file(given: str) -> str:
    """The text itself, or the content of the file for @FILE. Raises JobError."""
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise JobError(f"{given[1:]}: {error.strerror}") from None


def _json(records: DataFrame, schema: str, *, strict: bool) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    text = F.col("value").cast("string")
    try:
        kind = records.select(F.from_json(text, schema).alias("value")).schema["value"].dataType
    except Exception as error:
        raise JobError(f"cannot parse the schema: {error}") from error
    # Spark stops reading behind the first value, and takes blank text for null. So the text becomes the first element
    # of an array: it is one value from end to end if the second element is the one that follows here. No text can hold
    # that by chance, or by intent.
    token = secrets.token_hex(8)
    elements = F.from_json(F.concat(F.lit("["), text, F.lit(f',"{token}"]')), "ARRAY<STRING>")
    is_whole = F.coalesce((F.size(elements) == 2) & (elements[1] == token), F.lit(False))
    # A field, so that any type may be the schema.
    value, bad = f"value_{token}", f"bad_{token}"
    fields = T.StructType().add(value, kind).add(bad, T.StringType())
    document = F.concat(F.lit(f'{{"{value}":'), text, F.lit("}"))
    found = F.from_json(document, fields, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": bad})
    if not strict:
        return records.withColumn("value", F.when(is_whole, found[value]))
    # Spark's FAILFAST names neither topic nor offset.
    place = F.format_string("the value of topic %s, partition %d, offset %d is not valid JSON for the schema", *PLACE)
    is_bad = text.isNotNull() & (~is_whole | found[bad].isNotNull() | found[value].isNull())
    return records.withColumn("value", F.when(is_bad, F.raise_error(place)).otherwise(found[value]))


def avro_decoder(schema: object, *, framing: str, strict: bool) -> Callable[[bytes | None, str, int, int], Any]:
    """The function that a worker calls for each value and its place. It holds the schema as plain data only."""

    def decode(value: bytes | None, topic: str, partition: int, offset: int) -> Any:
        if value is None:
            return None
        from fastavro import parse_schema as prepared
        from fastavro import schemaless_reader

        if "schema" not in cache:
            cache["schema"] = prepared(as_mapped(schema))
        try:
            body = without_prefix(bytes(value)) if framing == "confluent" else bytes(value)
            stream = io.BytesIO(body)
            found = schemaless_reader(stream, cache["schema"], None)
            if stream.tell() != len(body):
                raise ValueError(f"{len(body) - stream.tell()} bytes too many")
            return found
        except Exception as error:
            if strict:
                place = f"topic {topic}, partition {partition}, offset {offset}"
                raise JobError(f"the value of {place} does not match the Avro schema: {error}") from None
            return None

    cache: dict[str, Any] = {}
    return decode
