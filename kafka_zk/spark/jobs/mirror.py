"""mirror: topics from one cluster to another, keeping partitions and order, with an offset translation table.

Guarantee   Each record once (see copy_plan.py). A batch's offsets are fixed by the query's checkpoint; which of them
            are sent is noted before the first is, so that deletions in the source meanwhile change nothing. With
            `transactional` all of a batch is one transaction: readers of committed records see it whole or not at all,
            and no batch cuts a transaction of a source partition.
Offsets     `offsets-path` is a Parquet table, a file a batch: topic, partition, source_offset, target_offset,
            record_count, target_topic. With `groups` their committed offsets are translated by it at the end of each
            run; a group that has members in the target is refused by the target's coordinator. The folder belongs to
            one checkpoint.
"""

from __future__ import annotations

import uuid
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from kafka_zk.client.range_writing.shared_transaction import SharedTransaction
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.client_secrets import resolved
from kafka_zk.spark.jobs.carried_groups import TABLE, carry_group, read_table
from kafka_zk.spark.jobs.cluster import (
    MakeTopics,
    cluster_properties,
    ensure_topics,
    partition_counts,
    topic_ids,
)
from kafka_zk.spark.jobs.copy_plan import check_topic_ids
from kafka_zk.spark.jobs.destination import refuse_own_source
from kafka_zk.spark.jobs.file_store import FileStore
from kafka_zk.spark.jobs.group_offsets import committer
from kafka_zk.spark.jobs.ordered_copy import copy_batch
from kafka_zk.spark.jobs.outcome import JobError, Outcome
from kafka_zk.spark.jobs.reading import read_stream, source_options
from kafka_zk.spark.jobs.sole_run import sole_run
from kafka_zk.spark.jobs.streams import run_to_end, triggered
from kafka_zk.spark.jobs.target_identity import claim_target
from kafka_zk.spark.sources.kafka.exactly_once import TRANSACTION_TIMEOUT_MS
from kafka_zk.spark.sources.subscription import read_subscription

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_zk.spark.settings.declaration import Settings

ISOLATION, COMMITTED = "isolation.level", "read_committed"
PREFIX = "kafka_zk-mirror-"
"""Of transactional ids."""
OWNER = "_mirror"
"""A file in the checkpoint and in the folder of the table: the same text in both."""


def run(session: SparkSession, settings: Settings) -> Outcome:
    """Blocks until the query ends."""
    checkpoint = settings.text("checkpoint")
    if not checkpoint:
        raise JobError("a mirror requires a checkpoint")
    with sole_run(FileStore(session, checkpoint).folder):
        return _run_alone(session, settings, checkpoint)


def _run_alone(session: SparkSession, settings: Settings, checkpoint: str) -> Outcome:
    source = cluster_properties(settings.text("bootstrap-server"), settings.mapping("kafka"))
    target = cluster_properties(settings.text("target-bootstrap-server"), settings.mapping("target-kafka"))
    rename, offsets_path = settings.mapping("rename"), settings.text("offsets-path")
    if settings.flag("transactional"):
        settings = in_transactions(settings)
    read = read_subscription(source_options(settings))
    refuse_own_source(read, source, target, *(rename.get(topic, topic) for topic in settings.texts("topics")))
    state = FileStore(session, f"{checkpoint}/mirrored")
    claim_offsets_path(state, FileStore(session, offsets_path))
    claim_cluster(state, target)
    make = MakeTopics(settings.mapping("topic-config")) if settings.flag("create-topics") else None

    def copy(records: DataFrame, batch_id: int) -> None:
        # Used twice, fetched once.
        batch = records.persist()
        try:
            copy_held(batch, batch_id)
        finally:
            batch.unpersist()

    def copy_held(batch: DataFrame, batch_id: int) -> None:
        found = batch.select("topic", "partition").distinct().collect()
        partitions = sorted(TopicPartition(row[0], row[1]) for row in found)
        topics = {each.topic for each in partitions}
        counts = partition_counts(source, topics, known=topics)
        check_source(state, source, set(counts))
        needed = {rename.get(topic, topic): count for topic, count in counts.items()}
        # By now the topics of a pattern are known.
        refuse_own_source(read, source, target, *needed)
        ensure_topics(target, needed, make)
        check_target(state, target, set(needed))
        with _transaction(settings, state, target) as transaction:
            rows = copy_batch(
                batch,
                state=state,
                name=f"batch-{batch_id}",
                target=target,
                rename=rename,
                partitions=partitions,
                transaction=transaction,
            )
        # A topic recreated while it was read has the old one's offsets, which mean other records in the table.
        check_source(state, source, set(counts))
        table = batch.sparkSession.createDataFrame([(*row, rename.get(row[0], row[0])) for row in rows], TABLE)
        # One folder per batch: a repeated batch replaces its first attempt.
        table.coalesce(1).write.mode("overwrite").parquet(f"{offsets_path}/batch={batch_id}")

    writer = read_stream(session, settings).writeStream.queryName("mirror").option("checkpointLocation", checkpoint)
    stream = triggered(writer.foreachBatch(copy), settings)
    progress = run_to_end(stream.start, "mirror", committer(settings))
    told = ""
    if groups := settings.texts("groups"):
        offsets = read_table(session, offsets_path, rename)
        for group in groups:
            told += f"; group {group}: {carry_group(source, target, rename, group, offsets)} offsets"
    return Outcome(f"mirror: {progress.records:,} records in {progress.batches} batches{told}")


def in_transactions(settings: Settings) -> Settings:
    """Those of a mirror in transactions: it reads what is committed, and unless told otherwise no part of it. Raises
    JobError."""
    settings = settings.with_flag("whole-transactions", True)
    return settings.with_mapping("kafka", committed_only(settings.mapping("kafka")))


def committed_only(kafka: dict[str, str]) -> dict[str, str]:
    """The source's client settings for a mirror in transactions. Raises JobError if they ask for more."""
    if kafka.get(ISOLATION, COMMITTED) != COMMITTED:
        raise JobError(f"transactional mirrors what is committed, so {ISOLATION} cannot be {kafka[ISOLATION]}")
    return kafka | {ISOLATION: COMMITTED}


def _transaction(
    settings: Settings, state: FileStore, target: dict[str, str]
) -> AbstractContextManager[SharedTransaction | None]:
    """Of one batch: those of one checkpoint share an id, so that a run fences the one before."""
    if not settings.flag("transactional"):
        return nullcontext()
    given = {"transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS), **resolved(target)}
    return SharedTransaction(given, f"{PREFIX}{state.read(OWNER)}")


def claim_offsets_path(state: FileStore, table: FileStore) -> None:
    """Raise JobError if the table's directory belongs to a mirror with another checkpoint."""
    owner, own = table.read(OWNER), state.read(OWNER)
    if own is None and owner is None and (not any(table.data_files()) or state.names()):
        # A new mirror, or one that was begun before such notes were made. Its checkpoint may be inside of that folder.
        own = uuid.uuid4().hex
    if own is None or owner not in (None, own):
        raise JobError(
            f"{table.root} holds the offsets of a mirror with another checkpoint; "
            "use another offsets-path, or delete that one"
        )
    if state.read(OWNER) is None and not state.write_new(OWNER, own):
        # Two runs of it have begun in the same moment: one name for both, by which the later one fences the other.
        own = state.read(OWNER) or own
    if owner is None and not table.write_new(OWNER, own) and table.read(OWNER) != own:
        raise JobError(f"{table.root} was just taken by a mirror with another checkpoint; use another offsets-path")


def claim_cluster(state: FileStore, target: dict[str, str]) -> None:
    """Blocks. Raise JobError if earlier batches went to another cluster, before any topic is created there."""
    claim_target(state, target, has_begun=any(".note-" in name for name in state.names()))


def check_source(state: FileStore, source: dict[str, str], topics: set[str]) -> None:
    """Note the ids of topics that are mirrored for the first time. Raises JobError for one that was recreated."""
    _check_ids(state, topic_ids(source, topics), "topic-id", "the source")


def check_target(state: FileStore, target: dict[str, str], topics: set[str]) -> None:
    """As `check_source`: the table is of the topics that earlier batches went to."""
    _check_ids(state, topic_ids(target, topics), "target-id", "the target")


def _check_ids(state: FileStore, found: dict[str, str], note: str, where: str) -> None:
    for topic, topic_id in sorted(found.items()):
        noted = state.read(f"{topic}.{note}")
        if noted is None:
            state.write(f"{topic}.{note}", topic_id)
        else:
            check_topic_ids({topic: noted}, found, where)
