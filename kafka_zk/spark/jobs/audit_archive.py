"""Audits an archive: duplicate offsets, gaps, and records that differ from the cluster's.

Role        Builds plans.
Rule        A hole is an error only where the cluster still has records in it; without a cluster to ask it is a warning,
            because compaction and control records leave holes, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_zk.spark.jobs.archive import read_archive
from kafka_zk.spark.jobs.audit_findings import ERROR, WARNING
from kafka_zk.spark.jobs.reading import read_topics

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from kafka_zk.spark.settings.declaration import Settings

BETWEEN = ("topic", "partition")
PLACE = (*BETWEEN, "offset")


def audit_archive(session: SparkSession, settings: Settings) -> tuple[DataFrame, DataFrame]:
    """Findings, and one row a partition: first and last offset, records."""
    from pyspark.sql import functions as F

    path = settings.text("archive")
    records = read_archive(session, path, settings.text("archive-format"), settings.texts("topics"))
    digests = records.select(*PLACE, digest().alias("digest")).cache()
    ranges = digests.groupBy(*BETWEEN).agg(
        F.min("offset").alias("first_offset"), F.max("offset").alias("last_offset"), F.count("*").alias("records")
    )
    findings = _twice(digests, path).unionByName(_holes(digests, path))
    if settings.has("bootstrap-server"):
        findings = findings.where("kind <> 'hole'").unionByName(_against(session, settings, digests, ranges, path))
    return findings, ranges.orderBy(*BETWEEN)


def digest() -> Column:
    """A hash of a record's content. Spark's hash skips nulls, so nullability is hashed beside each value:
    swapped key and value, or null and empty, are not alike."""
    from pyspark.sql import functions as F

    return F.expr(
        "xxhash64(key IS NULL, key, value IS NULL, value, timestamp, timestampType, coalesce(size(headers), -1), "
        "transform(headers, each -> struct(each.key, each.value IS NULL, each.value)))"
    )


def _finding(rows: DataFrame, severity: str, kind: str, path: str, what: str, first: str, last: str) -> DataFrame:
    from pyspark.sql import functions as F

    return rows.select(
        F.lit(severity).alias("severity"),
        F.lit(kind).alias("kind"),
        *BETWEEN,
        F.lit(path).alias("place"),
        F.expr(first).alias("first_offset"),
        F.expr(last).alias("last_offset"),
        F.expr(what).alias("what"),
    )


def _twice(digests: DataFrame, path: str) -> DataFrame:
    again = digests.groupBy(*PLACE).count().where("count > 1")
    return _finding(again, ERROR, "twice", path, "concat('the record occurs ', count, ' times')", "offset", "offset")


def _holes(digests: DataFrame, path: str) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = Window.partitionBy(*BETWEEN).orderBy("offset")
    steps = digests.select(*PLACE).distinct().withColumn("next", F.lead("offset").over(order))
    holes = steps.where("next > offset + 1")
    what = "concat(next - offset - 1, ' offsets are missing')"
    return _finding(holes, WARNING, "hole", path, what, "offset + 1", "next - 1")


def _against(session: SparkSession, settings: Settings, digests: DataFrame, ranges: DataFrame, path: str) -> DataFrame:
    """Records that the cluster has within the archive's ranges, and the archive has not or has otherwise."""
    from pyspark.sql import functions as F

    topics = sorted(row[0] for row in ranges.select("topic").distinct().collect())
    live = read_topics(
        session,
        settings.text("bootstrap-server"),
        settings.mapping("kafka"),
        topics,
        startingOffsets="earliest",
        endingOffsets="latest",
    )
    there = live.select(*PLACE, digest().alias("live_digest"))
    within = there.join(F.broadcast(ranges), list(BETWEEN)).where("offset BETWEEN first_offset AND last_offset")
    both = within.select(*PLACE, "live_digest").join(digests, list(PLACE), "left")
    missing = _finding(
        both.where("digest IS NULL"),
        ERROR,
        "missing",
        path,
        "'the cluster has this record, the archive does not'",
        "offset",
        "offset",
    )
    differs = "'the cluster has another key, value, header or timestamp'"
    return missing.unionByName(
        _finding(both.where("digest <> live_digest"), ERROR, "differs", path, differs, "offset", "offset")
    )
