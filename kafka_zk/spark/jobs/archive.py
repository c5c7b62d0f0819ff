"""archive: topics to files, partitioned by topic and date; each record exactly once.

Guarantee   Exactly once, provable by (topic, partition, offset). Spark notes the offsets of a batch in the checkpoint
            before it reads them, so a repeated batch has the same records; its files count only when the
            batch is in the sink's log (`_spark_metadata`), which takes one atomic rename.
            Other readers work too: leftovers of killed tasks are deleted at the start of
            the next run and at the end of each, so a finished archive holds each record in one file only.
            A directory belongs to one checkpoint (sink_owner.py), and of topics of one name to the first: a topic that
            was deleted and recreated is refused.
Columns     key, value (binary), partition, offset, timestamp, timestampType, headers; topic and date are directories.
            `_topics.json` holds how many partitions each topic had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_zk.spark.jobs.archived_topics import note_topics
from kafka_zk.spark.jobs.file_sink_log import FOLDER, committed_paths, is_part, left_over
from kafka_zk.spark.jobs.file_store import FileStore
from kafka_zk.spark.jobs.group_offsets import committer
from kafka_zk.spark.jobs.outcome import JobError, Outcome
from kafka_zk.spark.jobs.reading import read_stream
from kafka_zk.spark.jobs.sink_owner import claim
from kafka_zk.spark.jobs.sole_run import sole_run
from kafka_zk.spark.jobs.streams import run_to_end, triggered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_zk.spark.settings.declaration import Settings

OTHER_LOGS = ("_delta_log", ".hoodie", "metadata")
"""Directories that Delta, Hudi and Iceberg tables have: never delete their files."""
SCHEMA = (
    "key BINARY, value BINARY, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>, topic STRING, date DATE"
)
"""What restore and audit read; types of directories are never guessed, or a topic 2013 would be a number."""


def run(session: SparkSession, settings: Settings) -> Outcome:
    """Blocks until the query ends."""
    path = settings.text("path")
    store = FileStore(session, path)
    checkpoint = settings.text("checkpoint") or f"{path}/_checkpoint"
    with sole_run(store.folder, FileStore(session, checkpoint).folder):
        return _run_alone(session, settings, store, checkpoint)


def _run_alone(session: SparkSession, settings: Settings, store: FileStore, checkpoint: str) -> Outcome:
    refuse_others_files(store)
    claim_files(session, store, checkpoint)
    swept = sweep(store)
    note_topics(store, settings)
    # An archive's records are identified by topic, partition and offset: two topics of one name cannot both be in it.
    records = read_stream(session, settings, failOnNewTopic="true")
    writer = with_date(records).writeStream.format(settings.text("format"))
    writer = writer.partitionBy("topic", "date").outputMode("append").queryName("archive")
    writer = writer.option("checkpointLocation", checkpoint)
    if settings.has("compression"):
        writer = writer.option("compression", settings.text("compression"))
    stream = triggered(writer, settings)
    progress = run_to_end(lambda: stream.start(store.root), "archive", committer(settings))
    swept += sweep(store)
    note_topics(store, settings)
    left = f"; {swept} leftover files of failed tasks deleted" if swept else ""
    return Outcome(f"archive: {progress.records:,} records in {progress.batches} batches to {store.root}{left}")


def with_date(records: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return records.withColumn("date", F.to_date("timestamp"))


def refuse_others_files(store: FileStore) -> None:
    """Raise JobError if no query wrote the files of a directory: Spark would hide them, and a sweep delete them."""
    if not store.exists() or any(store.exists(name) for name in (FOLDER, *OTHER_LOGS)):
        return
    for file in filter(is_part, store.data_files()):
        raise JobError(
            f"{store.root} contains files that this job did not write, such as {file}; use an empty directory"
        )


def claim_files(session: SparkSession, store: FileStore, checkpoint: str) -> None:
    """Raise JobError where files, or a checkpoint, are another query's; tables with a log of their own see to that."""
    if not any(store.exists(name) for name in OTHER_LOGS):
        claim(store, FileStore(session, checkpoint))


def sweep(store: FileStore) -> int:
    """Delete files that no batch has committed; returns how many. Only for a directory that no query writes to now."""
    if not store.exists(FOLDER):
        return 0  # A table of another kind, with a log of its own; or nothing was ever written.
    names = store.names(FOLDER)
    committed = committed_paths({name: store.read(f"{FOLDER}/{name}") or "" for name in names})
    orphans = left_over(store.data_files(), committed)
    for file in orphans:
        store.delete(file)
    return len(orphans)


def read_archive(session: SparkSession, path: str, file_format: str, topics: list[str]) -> DataFrame:
    """The records of an archive, of the given topics or all."""
    from pyspark.sql import functions as F

    records = session.read.format(file_format).schema(SCHEMA).load(path)
    return records.where(F.col("topic").isin(topics)) if topics else records
