"""Writing DataFrames to topics, in batch and streaming queries.

Role        Acts in workers: each task has its own producer and ends when every record has its outcome.
Guarantee   At least once: a retried task, and a repeated micro-batch, write their records again. With exactlyOnce they
            do not (exactly_once.py).
Source      Spark 4.2 KafkaRowWriter, KafkaDataWriter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from kafka_zk.client.errors import KafkaException
from kafka_zk.client.producer.futures import RecordMetadata
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.spark.client_secrets import resolved
from kafka_zk.spark.sources.errors import SourceError, SourceOptionError
from kafka_zk.spark.sources.kafka.exactly_once import TRANSACTION_TIMEOUT_MS, Part, PartWriter, advice, part_of
from kafka_zk.spark.sources.kafka.write_settings import WriteSettings

BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"
SERIALIZERS = {"key.serializer": BYTES, "value.serializer": BYTES}


class KafkaWriter(DataSourceArrowWriter):
    """A batch query's, also inside of foreachBatch; holds settings only."""

    def __init__(self, settings: WriteSettings) -> None:
        self._settings = settings

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _write(self._settings, iterator)


class KafkaStreamWriter(DataSourceStreamArrowWriter):
    """A streaming query's; holds settings only."""

    def __init__(self, settings: WriteSettings) -> None:
        self._settings = settings

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _write(self._settings, iterator)


def _write(settings: WriteSettings, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
    if settings.exactly_once:
        # A write inside of foreachBatch is a batch query, and its tasks know the micro-batch as those of a sink do.
        return write_part(settings, iterator, part_of(TaskContext.get()))
    return write_batches(settings, iterator)


def write_batches(settings: WriteSettings, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
    """Blocks until every record is acknowledged. Raises SourceError with the first failure, SourceOptionError."""
    if settings.fail_on_task_retry:
        refuse_second_try(TaskContext.get())
    with _one_sentence(), KafkaProducer({**resolved(settings.client), **SERIALIZERS}) as producer:
        task = _Task(settings, producer)
        for batch in iterator:
            task.send(batch)
        producer.flush()
        task.raise_failure()
    return WriterCommitMessage()


def write_part(settings: WriteSettings, iterator: Iterator[pa.RecordBatch], part: Part) -> WriterCommitMessage:
    """Blocks until the part is committed, now or by an earlier try. Raises SourceError, SourceOptionError."""
    assert settings.topic is not None, "exactlyOnce has its topic"
    first = next((batch for batch in iterator if batch.num_rows), None)
    if first is None:
        # Nothing to write, and nothing to remember.
        return WriterCommitMessage()
    with _one_sentence():
        client = resolved(settings.client)
        given = {"transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS), **client, "transactional.id": part.name}
        with KafkaProducer({**given, **SERIALIZERS}) as producer:
            writer = PartWriter(producer, client, part, settings.topic)
            task = _Task(settings, producer, writer)
            for batch in itertools.chain([first], iterator):
                task.send(batch)
            if not writer.is_written:
                producer.flush()
            task.raise_failure()
            writer.finish()
    return WriterCommitMessage()


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Every failure of the client as a SourceError, or SourceOptionError."""
    try:
        yield
    except ConfigException as error:
        raise SourceOptionError(str(error)) from error
    except (KafkaException, BrokerError) as error:
        raise SourceError(f"Could not write records: {error}{advice(error)}") from error


def refuse_second_try(context: TaskContext | None) -> None:
    """Raise SourceError in a retried task."""
    if context is not None and context.attemptNumber() > 0:
        raise SourceError(
            "A task failed and is not retried, since some of its records may have been written (failOnTaskRetry); "
            "see its first failure for the cause"
        )


class _Task:
    """Sends the records of one task."""

    def __init__(self, settings: WriteSettings, producer: KafkaProducer, part: PartWriter | None = None) -> None:
        """A `part` that is written already is counted instead of sent."""
        self._settings = settings
        self._producer = producer
        self._part = part
        self._failure: tuple[RecordMetadata, Exception] | None = None

    def send(self, batch: pa.RecordBatch) -> None:
        """Raises SourceError."""
        count = batch.num_rows
        keys, values = self._bytes(batch, "key"), self._bytes(batch, "value")
        topics = self._topics(batch)
        partitions: Sequence[int | None] = self._column(batch, "partition").to_pylist()
        headers = [
            () if row is None else tuple((each["key"], each["value"]) for each in row)
            for row in self._column(batch, "headers").to_pylist()
        ]
        send, note, part = self._producer.send, self._note, self._part
        for index in range(count):
            topic, partition = topics[index], partitions[index]
            if part is not None:
                part.rows.add(keys[index], values[index], partition, headers[index])
                if part.is_written:
                    continue
            try:
                send(topic, values[index], keys[index], partition, None, headers[index], note)
            except ValueError as error:
                raise SourceError(
                    f"Could not write a record for topic {topic}, partition {partition}: {error}"
                ) from error
            except KafkaException:
                # A transaction refuses records once one has failed, which says more.
                self.raise_failure()
                raise
        self.raise_failure()

    def raise_failure(self) -> None:
        """Raise SourceError for the first record that failed."""
        if self._failure is not None:
            where, error = self._failure
            partition = f"partition {where.topic}-{where.partition}" if where.partition >= 0 else f"topic {where.topic}"
            raise SourceError(f"Could not write a record for {partition}: {error}{advice(error)}") from error

    def _note(self, metadata: RecordMetadata, error: Exception | None) -> None:
        if error is not None and self._failure is None:
            self._failure = metadata, error

    def _topics(self, batch: pa.RecordBatch) -> Sequence[str]:
        if self._settings.topic is not None:
            return [self._settings.topic] * batch.num_rows
        topics: list[str | None] = self._column(batch, "topic").to_pylist()
        if None in topics:
            raise SourceError("A row has no topic: its column topic is null, and the option topic is not set.")
        return [topic for topic in topics if topic is not None]

    def _bytes(self, batch: pa.RecordBatch, name: str) -> Sequence[bytes | None]:
        fields: list[bytes | None] = self._column(batch, name).cast(pa.binary()).to_pylist()
        return fields

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        return batch.column(name) if name in self._settings.columns else pa.nulls(batch.num_rows)
