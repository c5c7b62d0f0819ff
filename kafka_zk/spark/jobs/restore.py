"""restore: an archive back to topics; same partition, key, value, headers and timestamp, in the order of the offsets.

Guarantee   Each record once, when nothing else writes to the topics meanwhile: the checkpoint holds where they ended
            before the restore began, so a restore that was cut off counts what is there and goes on behind it.
            Offsets are new: they begin at the end of the topic and have no holes. The table of them is in the
            checkpoint, as `offsets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.archive import read_archive
from kafka_zk.spark.jobs.cluster import cluster_properties, ensure_topics
from kafka_zk.spark.jobs.file_store import FileStore
from kafka_zk.spark.jobs.ordered_copy import SPANS, copy_batch
from kafka_zk.spark.jobs.outcome import JobError, Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_zk.spark.settings.declaration import Settings

OFFSETS = "offsets"


def run(session: SparkSession, settings: Settings) -> Outcome:
    """Blocks until everything is written."""
    from pyspark.sql import functions as F

    path = settings.text("path")
    records = read_archive(session, path, settings.text("format"))
    if settings.has("topics"):
        records = records.where(F.col("topic").isin(settings.texts("topics")))
    found = records.select("topic", "partition").distinct().collect()
    partitions = sorted(TopicPartition(row[0], row[1]) for row in found)
    _check_all_there(settings.texts("topics"), partitions, path)
    rename = settings.mapping("rename")
    target = cluster_properties(settings.text("bootstrap-server"), settings.mapping("kafka"))
    needed: dict[str, int] = {}
    for each in partitions:
        name = rename.get(each.topic, each.topic)
        needed[name] = max(needed.get(name, 0), each.partition + 1)
    ensure_topics(target, needed, create=settings.flag("create-topics"))
    state = FileStore(session, settings.text("checkpoint"))
    rows = copy_batch(records, state=state, name="restore", target=target, rename=rename, partitions=partitions)
    table = session.createDataFrame(rows, SPANS)
    table.coalesce(1).write.mode("overwrite").parquet(f"{settings.text('checkpoint')}/{OFFSETS}")
    count = sum(row[4] for row in rows)
    return Outcome(f"restore: {count:,} records of {len(partitions)} partitions to {', '.join(sorted(needed))}")


def _check_all_there(wanted: list[str], partitions: list[TopicPartition], path: str) -> None:
    missing = sorted(set(wanted) - {each.topic for each in partitions})
    if missing:
        raise JobError(f"the archive {path} holds no records of {', '.join(missing)}")
    if not partitions:
        raise JobError(f"the archive {path} holds no records")
