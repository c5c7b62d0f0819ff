"""Converts DataFrames to records: key, value, and the data source's other columns.

Role        Builds plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_zk.spark.jobs.outcome import JobError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEY_SEPARATOR = "|"


def as_records(rows: DataFrame, key: list[str], value: str) -> DataFrame:
    """Columns key and value: `key` columns as text joined by |, null when all are; `value` a column or "" for JSON.

    Rows that have a column `value` and name no other are written as they are, with their `key` if they have one.
    Raises JobError for columns that are not there.
    """
    from pyspark.sql import functions as F

    missing = [name for name in [*key, value] if name and name not in rows.columns]
    if missing:
        raise JobError(f"there is no column {missing[0]!r}; there are {', '.join(rows.columns)}")
    if not value and "value" in rows.columns and not key:
        value = "value"
    body = _value(rows, value)
    if key:
        name = F.coalesce(*[F.col(f"`{column}`").cast("string") for column in key])
        joined = F.concat_ws(KEY_SEPARATOR, *[F.col(f"`{column}`").cast("string") for column in key])
        return rows.select(F.when(name.isNotNull(), joined).alias("key"), body.alias("value"), *_extra(rows))
    if "key" in rows.columns and value == "value":
        return rows.select("key", body.alias("value"), *_extra(rows))
    return rows.select(F.lit(None).cast("binary").alias("key"), body.alias("value"), *_extra(rows))


def _value(rows: DataFrame, value: str) -> Column:
    from pyspark.sql import functions as F

    if not value:
        return F.to_json(F.struct(*[F.col(f"`{name}`") for name in rows.columns]), {"ignoreNullFields": "false"})
    kind = rows.schema[value].dataType.simpleString()
    column = F.col(f"`{value}`")
    if kind in ("binary", "string"):
        return column
    return F.to_json(column) if kind.startswith(("struct", "array", "map")) else column.cast("string")


def _extra(rows: DataFrame) -> list[str]:
    """A column headers of the data source's own type goes along."""
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    return ["headers"] if kinds.get("headers") == "array<struct<key:string,value:binary>>" else []
