"""restore: an archive back to topics: same partitions, keys, values, headers, timestamps and order.

Guarantee   Each record once: the checkpoint notes what is sent under which producer id before it is sent, so a restore
            that was cut off finds in the topic what of it arrived, and sends the rest (see copy_plan.py).
            Offsets are new: they begin at the end of the topic. The table of them is in the checkpoint, as `offsets`.
Topics      A topic that is made has as many partitions as when it was archived, also where they were empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.archive import read_archive
from kafka_zk.spark.jobs.archived_topics import grown, noted_topics
from kafka_zk.spark.jobs.cluster import MakeTopics, cluster_properties, ensure_topics
from kafka_zk.spark.jobs.file_store import FileStore
from kafka_zk.spark.jobs.ordered_copy import SPANS, copy_batch
from kafka_zk.spark.jobs.outcome import JobError, Outcome
from kafka_zk.spark.jobs.sole_run import sole_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_zk.spark.settings.declaration import Settings

OFFSETS = "offsets"


def run(session: SparkSession, settings: Settings) -> Outcome:
    """Blocks until everything is written."""
    with sole_run(FileStore(session, settings.text("checkpoint")).folder):
        return _run_alone(session, settings)


def _run_alone(session: SparkSession, settings: Settings) -> Outcome:
    path = settings.text("path")
    records = read_archive(session, path, settings.text("format"), settings.texts("topics"))
    found = records.select("topic", "partition").distinct().collect()
    partitions = sorted(TopicPartition(row[0], row[1]) for row in found)
    wanted, noted = settings.texts("topics"), noted_topics(FileStore(session, path))
    if wanted:
        noted = {topic: count for topic, count in noted.items() if topic in wanted}
    _check_all_there(wanted, {each.topic for each in partitions} | set(noted), path)
    rename = settings.mapping("rename")
    target = cluster_properties(settings.text("bootstrap-server"), settings.mapping("kafka"))
    needed: dict[str, int] = {}
    for each in partitions:
        name = rename.get(each.topic, each.topic)
        needed[name] = max(needed.get(name, 0), each.partition + 1)
    as_it_was = grown(needed, {rename.get(topic, topic): count for topic, count in noted.items()})
    make = MakeTopics(settings.mapping("topic-config"), as_it_was) if settings.flag("create-topics") else None
    ensure_topics(target, needed, make)
    state = FileStore(session, settings.text("checkpoint"))
    rows = copy_batch(records, state=state, name="restore", target=target, rename=rename, partitions=partitions)
    table = session.createDataFrame(rows, SPANS)
    table.coalesce(1).write.mode("overwrite").parquet(f"{settings.text('checkpoint')}/{OFFSETS}")
    count = sum(row[4] for row in rows)
    return Outcome(f"restore: {count:,} records of {len(partitions)} partitions to {', '.join(sorted(as_it_was))}")


def _check_all_there(wanted: list[str], known: set[str], path: str) -> None:
    missing = sorted(set(wanted) - known)
    if missing:
        raise JobError(f"the archive {path} has no records of {', '.join(missing)}")
    if not known:
        raise JobError(f"the archive {path} has no records")
