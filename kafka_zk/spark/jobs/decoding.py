"""Decodes the column `value` as JSON, Avro or text.

Role        Builds plans; the Avro decoder runs in workers.
Invariants  A null value (a tombstone) stays null. A value that cannot be decoded fails the job with a sentence, or is
            null when the job says bad-values = null; it is never passed over in silence.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_zk.spark.jobs.avro_schema import parse_schema, sql_type, without_prefix
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

    text = F.col("value").cast("string")
    try:
        # An array or map is no list of columns, but a type all the same.
        value = F.from_json(text, schema, {"mode": "PERMISSIVE"})
    except Exception as error:
        raise JobError(f"cannot parse the schema: {error}") from error
    if not strict:
        return records.withColumn("value", value)
    # Spark's FAILFAST names neither topic nor offset.
    place = F.format_string("the value of topic %s, partition %d, offset %d is not valid JSON for the schema", *PLACE)
    failed = F.from_json(text, schema + ", _bad STRING", {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_bad"})
    bad = text.isNotNull() & failed["_bad"].isNotNull()
    return records.withColumn("value", F.when(bad, F.raise_error(place)).otherwise(value))


def avro_decoder(schema: object, *, framing: str, strict: bool) -> Callable[[bytes | None, str, int, int], Any]:
    """What a worker calls for each value and its place. It holds the schema as plain data only."""

    def decode(value: bytes | None, topic: str, partition: int, offset: int) -> Any:
        if value is None:
            return None
        from fastavro import parse_schema as prepared
        from fastavro import schemaless_reader

        if "schema" not in cache:
            cache["schema"] = prepared(schema)  # type: ignore[arg-type]
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
