"""transform: a SQL query or a Python function from topics to a topic, files or a table.

Guarantee   to-path, to-table: exactly once, like archive, each belonging to one checkpoint. to-topic: exactly once, a
            transaction a task and batch (sources/kafka/exactly_once.py). With delivery = at-least-once a batch that was
            cut off, or whose end was not noted, is written again; its records are the same, their keys too, so readers
            that keep the last value of a key do not notice.
View        The query reads the view `records`: key (text), value (decoded), topic, partition, offset, timestamp,
            timestampType, headers, and event_time if it is configured. A single topic whose name is a good
            name in SQL is a view by that name, too.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.spark import register
from kafka_zk.spark.jobs.archive import claim_files, refuse_others_files, sweep
from kafka_zk.spark.jobs.cluster import cluster_properties
from kafka_zk.spark.jobs.decoding import decoded, text_or_file
from kafka_zk.spark.jobs.destination import claim_destination, destination_of, refuse_own_source
from kafka_zk.spark.jobs.file_sink_log import FOLDER
from kafka_zk.spark.jobs.file_store import FileStore
from kafka_zk.spark.jobs.group_offsets import committer
from kafka_zk.spark.jobs.outcome import JobError, Outcome
from kafka_zk.spark.jobs.reading import FORMAT, client_options, read_stream, source_options
from kafka_zk.spark.jobs.sink_owner import NONE, OFFSETS, last_batch
from kafka_zk.spark.jobs.sole_run import sole_run
from kafka_zk.spark.jobs.streams import run_to_end, triggered
from kafka_zk.spark.jobs.target_identity import claim_target
from kafka_zk.spark.jobs.writing import as_records
from kafka_zk.spark.settings.jobs import EXACTLY_ONCE
from kafka_zk.spark.sources.subscription import read_subscription

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from kafka_zk.spark.settings.declaration import Settings

VIEW = "records"
ADAPTIVE_STREAMS = "spark.sql.adaptive.streaming.stateless.enabled"
EVENT_TIME = "event_time"
_SQL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def run(session: SparkSession, settings: Settings) -> Outcome:
    """Blocks until the query ends."""
    path = settings.text("to-path")
    store = FileStore(session, path) if path else None
    with sole_run(store.folder if store else None, FileStore(session, _checkpoint(settings)).folder):
        return _run_alone(session, settings, store)


def _run_alone(session: SparkSession, settings: Settings, store: FileStore | None) -> Outcome:
    shuffles = settings.integer("shuffle-partitions")
    session.conf.set("spark.sql.shuffle.partitions", str(shuffles))
    topic = settings.text("to-topic")
    # It divides rows by the sizes that it meets, and a batch that is repeated must be divided as it was.
    session.conf.set(ADAPTIVE_STREAMS, "false")
    if topic:
        source = cluster_properties(settings.text("bootstrap-server"), settings.mapping("kafka"))
        refuse_own_source(read_subscription(source_options(settings)), source, _target(settings), topic)
    records = prepared(read_stream(session, settings), settings)
    result = transformed(session, records, settings)
    if store is not None:
        refuse_others_files(store)
        claim_files(session, store, _checkpoint(settings))
        sweep(store)
    elif settings.has("to-table"):
        _claim_table(session, settings)
    checkpoint = FileStore(session, _checkpoint(settings))
    claim_destination(checkpoint, destination_of(topic, settings.text("to-table")))
    if topic:
        claim_topic(checkpoint, settings)
    progress = run_to_end(lambda: _start(result, settings), "transform", committer(settings))
    if topic:
        # Rows are sent by name: if another topic has it by now, they are not all in one place.
        claim_topic(checkpoint, settings)
    if store is not None:
        sweep(store)
    where = settings.text("to-path") or settings.text("to-table") or f"topic {settings.text('to-topic')}"
    return Outcome(f"transform: {progress.records:,} records read in {progress.batches} batches, written to {where}")


def prepared(records: DataFrame, settings: Settings) -> DataFrame:
    """Decoded, with event time and watermark. Raises JobError."""
    from pyspark.sql import functions as F

    records = decoded(records.withColumn("key", F.col("key").cast("string")), settings)
    if settings.has("event-time"):
        records = records.withColumn(EVENT_TIME, F.expr(settings.text("event-time")).cast("timestamp"))
    if settings.has("watermark"):
        column, _, delay = settings.text("watermark").partition(" ")
        if not delay.strip():
            raise JobError('watermark must be a column and a delay, such as "timestamp 10 minutes"')
        records = records.withWatermark(column, delay.strip())
    return records


def transformed(session: SparkSession, records: DataFrame, settings: Settings) -> DataFrame:
    """Apply the SQL query or the function to the records. Raises JobError."""
    if settings.has("python"):
        return load_function(settings.text("python"))(records)
    records.createOrReplaceTempView(VIEW)
    topics = settings.texts("topics")
    if len(topics) == 1 and _SQL_NAME.match(topics[0]):
        records.createOrReplaceTempView(topics[0])
    return session.sql(text_or_file(settings.text("sql")))


def load_function(place: str) -> Callable[[DataFrame], DataFrame]:
    """Load FILE.py:FUNCTION or MODULE:FUNCTION. Raises JobError."""
    module_name, _, name = place.rpartition(":")
    if not module_name or not name:
        raise JobError(f"python must be FILE.py:FUNCTION or MODULE:FUNCTION, not {place!r}")
    try:
        if module_name.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(module_name).stem, module_name)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            # Functions of a file travel to the workers by value: the file is not on their path.
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            from pyspark import cloudpickle

            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        else:
            module = importlib.import_module(module_name)
        found = getattr(module, name)
    except (ImportError, OSError, AttributeError, SyntaxError) as error:
        raise JobError(f"{place}: {error}") from None
    if not callable(found):
        raise JobError(f"{place} is not a function")
    function: Callable[[DataFrame], DataFrame] = found
    return function


def _checkpoint(settings: Settings) -> str:
    if settings.has("checkpoint"):
        return settings.text("checkpoint")
    if not settings.has("to-path"):
        raise JobError("a transform to a topic or a table requires a checkpoint")
    return f"{settings.text('to-path')}/_checkpoint"


def claim_topic(checkpoint: FileStore, settings: Settings) -> None:
    """Blocks. Note the topic and its cluster. Raises JobError if the checkpoint has written to others."""
    has_begun = last_batch(checkpoint.names(OFFSETS)) > NONE
    claim_target(checkpoint, _target(settings), [settings.text("to-topic")], has_begun=has_begun)


def _claim_table(session: SparkSession, settings: Settings) -> None:
    """The files of a table that is there and keeps them as `to-path` does. Raises JobError."""
    table = settings.text("to-table")
    if not session.catalog.tableExists(table):
        return
    described = session.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    places = [row["data_type"] for row in described if row["col_name"] == "Location"]
    for place in places:
        store = FileStore(session, place)
        if store.exists(FOLDER):
            claim_files(session, store, _checkpoint(settings))


def _target(settings: Settings) -> dict[str, str]:
    """The properties of the cluster that is written to."""
    bootstrap = settings.text("target-bootstrap-server") or settings.text("bootstrap-server")
    return cluster_properties(bootstrap, settings.mapping("target-kafka") or settings.mapping("kafka"))


def topic_options(settings: Settings) -> dict[str, str]:
    """The data source's options for writing `to-topic`."""
    target = _target(settings)
    options = {**client_options(target["bootstrap.servers"], target), "topic": settings.text("to-topic")}
    return options | {"exactlyOnce": "true" if settings.text("delivery") == EXACTLY_ONCE else "false"}


def _start(result: DataFrame, settings: Settings) -> StreamingQuery:
    checkpoint = _checkpoint(settings)
    path, table, topic = (settings.text(name) for name in ("to-path", "to-table", "to-topic"))
    if topic:
        rows = as_records(result, settings.texts("key"), settings.text("value"))
        options = topic_options(settings)
        writer = _writer(rows, settings, checkpoint)
        if settings.text("output-mode") == "append":
            return writer.format(FORMAT).options(**options).start()
        # Spark lets a sink written in Python append only; a batch that is written by itself may be anything.
        return writer.foreachBatch(lambda batch, _: _write_batch(batch, options)).start()
    writer = _writer(result, settings, checkpoint).format(settings.text("format"))
    if settings.has("partition-by"):
        writer = writer.partitionBy(*settings.texts("partition-by"))
    return writer.toTable(table) if table else writer.start(path)


def _write_batch(batch: DataFrame, options: dict[str, str]) -> None:
    # The session of a batch is a clone, which does not know our formats.
    register(batch.sparkSession)
    batch.write.format(FORMAT).options(**options).mode("append").save()


def _writer(rows: DataFrame, settings: Settings, checkpoint: str) -> DataStreamWriter:
    writer = rows.writeStream.outputMode(settings.text("output-mode")).queryName("transform")
    return triggered(writer.option("checkpointLocation", checkpoint), settings)
