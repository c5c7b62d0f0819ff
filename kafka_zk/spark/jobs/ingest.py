"""ingest: files to a topic; completed files are never sent again.

Guarantee   Each row once, also when the job is killed and run again. Files go in batches. Before a batch is sent, its
            files and the topic's end offsets are noted in the checkpoint; after it, that it is done. A batch that was
            begun but not done was cut off: the records that it left in the topic are read back (from the noted offsets
            on, identified by a header with run, batch and file) and subtracted from the rows to send, as often as each
            is there. That holds when the writers of the killed run have ended; Spark ends them with its driver.
            Before that, it waits until records above the high watermark are decided: they may be of the killed run.
            A task that failed is not retried within a run, nor its stage: it would send records twice.
Order       A file's rows are sent by one task, in their order, also what is left of a broken-off batch.
Records     key: the named columns as text; value: a column, or all columns as JSON. Header `kafka_zk.ingest`.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kafka_zk.client.errors import KafkaException
from kafka_zk.client.range_reading.range_reader import RangeReader
from kafka_zk.client.range_writing.sequenced_writer import SequencedWriter
from kafka_zk.config.tables.consumer import CONSUMER_KEYS
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.client_secrets import resolved
from kafka_zk.spark.jobs.cluster import (
    MakeTopics,
    cluster_properties,
    ensure_topics,
    partition_counts,
    topic_ends,
    topic_ids,
)
from kafka_zk.spark.jobs.copy_plan import check_topic_ids
from kafka_zk.spark.jobs.file_store import FileStore, as_plain_name
from kafka_zk.spark.jobs.ingest_plan import BATCH, DONE, PlannedBatch, missing_offsets, plan
from kafka_zk.spark.jobs.outcome import JobError, Outcome
from kafka_zk.spark.jobs.progress import Progress
from kafka_zk.spark.jobs.reading import FORMAT, client_options, read_topics
from kafka_zk.spark.jobs.rows_in_order import MARK, file_mark, unsent, whole_file_conf
from kafka_zk.spark.jobs.sole_run import sole_run
from kafka_zk.spark.jobs.writing import as_records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_zk.spark.settings.declaration import Settings

HEADER = "kafka_zk.ingest"
IDENTITY = "ingest.json"
TOPIC_ID = "topic-id"
COLUMNS = ("key", "value")
DEFAULT_READ_OPTIONS = {"csv": {"header": "true"}}


def run(session: SparkSession, settings: Settings) -> Outcome:
    """Blocks until every file is sent."""
    state = FileStore(session, settings.text("checkpoint"))
    with sole_run(state.folder):
        return _run_alone(session, settings, state)


def _run_alone(session: SparkSession, settings: Settings, state: FileStore) -> Outcome:
    refuse_own_notes([FileStore(session, path) for path in settings.texts("path")], state)
    topic, partitions = settings.text("topic"), settings.integer("create-partitions")
    properties = cluster_properties(settings.text("bootstrap-server"), settings.mapping("kafka"))
    ensure_topics(properties, {topic: partitions or 1}, MakeTopics() if partitions else None)
    run_id = _identity(state, topic)
    _check_topic(state, properties, topic)
    sizes = _files(session, settings)
    batches = plan(state.texts(), sizes, settings.integer("files-per-batch") or 1)
    progress = Progress("ingest")
    for batch in batches:
        rows = _rows(session, settings, batch, f"{run_id}/{batch.number}", sizes)
        if batch.ends is None:
            ends = {each.partition: offset for each, offset in topic_ends(properties, topic).items()}
            state.write(f"{batch.number}{BATCH}", replace(batch, ends=ends).encode())
        else:
            ranges = sent_ranges(properties, topic, batch)
            sent = _sent(session, settings, ranges)
            rows = unsent(rows, sent, session.sparkContext.defaultParallelism)
            # What is sent is fixed before: a stage that reads from a shuffle starts again beside its running tasks.
            rows = rows.localCheckpoint()
            if not rows.isEmpty():
                refuse_missing(properties, topic, ranges)
        count = _send(rows, settings)
        # Records are sent to a name, which may now belong to another topic.
        _check_topic(state, properties, topic)
        state.write(f"{batch.number}{DONE}", str(count))
        progress.note(batch.number, count, 0.0)
        progress.show(sys.stderr)
    progress.end(sys.stderr)
    return Outcome(f"ingest: {progress.records:,} records in {progress.batches} batches to topic {topic}")


def refuse_own_notes(read: Iterable[FileStore], state: FileStore) -> None:
    """Raise JobError if the checkpoint's own files would be sent."""
    for each in read:
        if each.reads_from(state):
            raise JobError(
                f"the checkpoint {state.root} is inside {each.root}, so its own files would be sent; "
                "use another directory, or one in there whose name begins with an underscore"
            )


def _identity(state: FileStore, topic: str) -> str:
    """The id of this ingest: made by its first run, kept in the checkpoint. Raises JobError for another topic's."""
    text = state.read(IDENTITY)
    if text is None:
        run_id = uuid.uuid4().hex[:12]
        state.write(IDENTITY, json.dumps({"id": run_id, "topic": topic}))
        return run_id
    known = json.loads(text)
    if known["topic"] != topic:
        raise JobError(f"the checkpoint {state.root} belongs to an ingest into topic {known['topic']}, not {topic}")
    return str(known["id"])


def _check_topic(state: FileStore, properties: dict[str, str], topic: str) -> None:
    """Raise JobError for a topic that was recreated: what is noted as done is not in it."""
    found = topic_ids(properties, [topic])
    noted = state.read(TOPIC_ID)
    if noted is not None:
        check_topic_ids({topic: noted}, found, "this ingest")
    elif topic in found:
        state.write(TOPIC_ID, found[topic])


def sent_ranges(properties: dict[str, str], topic: str, batch: PlannedBatch) -> tuple[dict[int, int], dict[int, int]]:
    """Blocks. Where the records of an interrupted batch may be: from the topic's end before it to its end
    now, when all of that is decided. A partition that is new since then may hold some from its beginning."""
    assert batch.ends is not None
    count = partition_counts(properties, [topic], known=[topic]).get(topic)
    if count is None:
        raise JobError(f"topic {topic} no longer exists")
    with SequencedWriter(resolved(properties)) as writer:
        try:
            ends = {index: writer.decided_end(TopicPartition(topic, index)) for index in range(count)}
        except (BrokerError, KafkaException) as error:
            raise JobError(f"could not check yet what an interrupted run left in topic {topic}: {error}") from error
    return {index: batch.ends.get(index, 0) for index in ends}, ends


def refuse_missing(properties: dict[str, str], topic: str, ranges: tuple[dict[int, int], dict[int, int]]) -> None:
    """Blocks. Raise JobError if compaction removed records: rows sent before would be sent again after newer ones."""
    starts, ends = ranges
    given = {name: value for name, value in resolved(properties).items() if name in CONSUMER_KEYS}
    with RangeReader({**given, "isolation.level": "read_uncommitted"}) as reader:
        for index, end in ends.items():
            place, start = TopicPartition(topic, index), starts[index]
            if start < end and (missing := missing_offsets(reader.headers(place, start, end), start, end)):
                raise JobError(
                    f"some of the offsets {missing[0]} to {missing[1] - 1} of {place} were deleted, so it is unknown "
                    "whether an interrupted run wrote there; use a new topic and a new checkpoint"
                )


def _files(session: SparkSession, settings: Settings) -> dict[str, int]:
    """All that there are, and how many bytes each has. Raises JobError for a path that is not there."""
    found: dict[str, int] = {}
    for path in settings.texts("path"):
        store = FileStore(session, path)
        if not store.exists():
            raise JobError(f"{path} does not exist")
        found.update(store.data_file_sizes())
    return found


def _rows(
    session: SparkSession, settings: Settings, batch: PlannedBatch, mark: str, sizes: Mapping[str, int]
) -> DataFrame:
    """The records of a batch: key, value, and the mark of their file. `mark` is the batch's."""
    from pyspark.sql import functions as F

    # A file whose path is no longer given still belongs to the batch.
    known = [sizes[file] if file in sizes else max(_sizes(session, file), default=0) for file in batch.files]
    for name, value in whole_file_conf(known, session.sparkContext.defaultParallelism).items():
        session.conf.set(name, value)
    kind = settings.text("format")
    reader = session.read.format(kind).options(**DEFAULT_READ_OPTIONS.get(kind, {}) | settings.mapping("read-option"))
    if settings.has("read-schema"):
        reader = reader.schema(settings.text("read-schema"))
    rows = reader.load([as_plain_name(file) for file in batch.files])
    records = as_records(rows, settings.texts("key"), settings.text("value"))
    own = file_mark(mark) if batch.marks_files else F.lit(mark.encode())
    return records.select(*(F.col(name).cast("binary").alias(name) for name in COLUMNS), own.alias(MARK))


def _sizes(session: SparkSession, file: str) -> list[int]:
    return [size for _, size in FileStore(session, file).data_file_sizes()]


def _sent(session: SparkSession, settings: Settings, ranges: tuple[dict[int, int], dict[int, int]]) -> DataFrame:
    """The records of the topic with a mark: key, value and mark."""
    from pyspark.sql import functions as F

    topic = settings.text("topic")
    starts, ends = (
        json.dumps({topic: {str(index): offset for index, offset in sorted(each.items())}}) for each in ranges
    )
    # A reader of committed records would not see those after another producer's open transaction.
    kafka = settings.mapping("kafka") | {"isolation.level": "read_uncommitted"}
    bootstrap = settings.text("bootstrap-server")
    records = read_topics(session, bootstrap, kafka, [topic], startingOffsets=starts, endingOffsets=ends)
    marks = F.get(F.filter("headers", lambda header: header["key"] == HEADER), 0)["value"]
    return records.select(*COLUMNS, marks.alias(MARK)).where(F.col(MARK).isNotNull())


def _send(rows: DataFrame, settings: Settings) -> int:
    """Blocks until all is acknowledged; returns the number of rows."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation("sent")
    header = F.array(F.struct(F.lit(HEADER).alias("key"), F.col(MARK).alias("value")))
    records = rows.select(*COLUMNS, header.alias("headers"))
    writer = records.observe(seen, F.count(F.lit(1)).alias("rows")).write.format(FORMAT).mode("append")
    options = client_options(settings.text("bootstrap-server"), settings.mapping("kafka"))
    writer.options(**options).option("topic", settings.text("topic")).option("failOnTaskRetry", "true").save()
    return int(seen.get["rows"])
