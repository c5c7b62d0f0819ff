"""The hash by which an audit compares an archived record with the cluster's: each difference of the two changes it."""

from __future__ import annotations

import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kafka_zk.spark.jobs.archive import SCHEMA
from kafka_zk.spark.jobs.audit_archive import digest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT = datetime.datetime(2024, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
LATER = AT + datetime.timedelta(milliseconds=1)
Header = tuple[str, bytes | None]


def record(
    key: bytes | None,
    value: bytes | None,
    headers: list[Header] | None = None,
    timestamp: datetime.datetime = AT,
    kind: int = 0,
) -> tuple[Any, ...]:
    return key, value, 0, 0, timestamp, kind, headers, "t", AT.date()


DIFFERENT = (
    record(None, b"a"),
    record(b"a", None),
    record(b"", b"a"),
    record(b"a", b""),
    record(None, None),
    record(b"", b""),
    record(None, b""),
    record(b"", None),
    record(b"a", b"a"),
    record(b"a", b"a", timestamp=LATER),
    record(b"a", b"a", kind=1),
    record(b"a", b"a", []),
    record(b"a", b"a", [("h", b"x")]),
    record(b"a", b"a", [("h", None)]),
    record(b"a", b"a", [("h", b"")]),
    record(b"a", b"a", [("h", None), ("i", b"x")]),
    record(b"a", b"a", [("h", b"x"), ("i", None)]),
    record(b"a", b"a", [("h", b"x"), ("h", b"x")]),
)


def test_no_two_records_that_differ_have_one_hash(spark: SparkSession) -> None:
    twice = [*DIFFERENT, *DIFFERENT]
    rows = spark.createDataFrame(twice, SCHEMA).coalesce(1).select(digest().alias("digest")).collect()
    found = [row["digest"] for row in rows]
    assert found[: len(DIFFERENT)] == found[len(DIFFERENT) :]
    ordered = sorted(zip(found[: len(DIFFERENT)], DIFFERENT, strict=True), key=lambda both: both[0])
    assert [(one[1], other[1]) for one, other in pairwise(ordered) if one[0] == other[0]] == []
