"""audit: verifies an archive, data directories or a live cluster's replicas in parallel, and reports in a table.

Exit        Outcome.found_wrong when there is a finding of severity error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_zk.spark.jobs.outcome import Outcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_zk.spark.settings.declaration import Settings

SHOWN = 50


def run(session: SparkSession, settings: Settings) -> Outcome:
    """Blocks until everything was examined."""
    findings, ranges = _examined(session, settings)
    findings = findings.orderBy("severity", "kind", "topic", "partition", "first_offset").cache()
    ranges.show(SHOWN, truncate=False)
    findings.show(SHOWN, truncate=False)
    if settings.has("report"):
        findings.coalesce(1).write.mode("overwrite").parquet(settings.text("report"))
    counts = {row[0]: row[1] for row in findings.groupBy("severity").count().collect()}
    told = (
        ", ".join(f"{counts.get(name, 0)} {name}s" for name in ("error", "warning")) + f", {counts.get('info', 0)} info"
    )
    return Outcome(f"audit: {told}", found_wrong=counts.get("error", 0) > 0)


def _examined(session: SparkSession, settings: Settings) -> tuple[DataFrame, DataFrame]:
    if settings.has("archive"):
        from kafka_zk.spark.jobs.audit_archive import audit_archive

        return audit_archive(session, settings)
    if settings.has("log-dirs"):
        from kafka_zk.spark.jobs.audit_directories import audit_directories

        return audit_directories(session, settings)
    from kafka_zk.spark.jobs.audit_live import audit_live

    return audit_live(session, settings)
