"""One batch of records into the same partitions of other topics, in order, each once.

Role        Plans on the driver; `OrderedWriter` runs in workers, one task a partition or more.
Invariants  Before the first record is sent the target's end offsets are noted. A batch that is done again skips what
            the target has; each acknowledged record must stand at the very offset that follows from that, or the copy
            stops and names it: then somebody else writes to the topic, and this copy never goes on.
            A task that Spark tries again sends nothing where its first try did: what is there is counted on the driver.
            Objects sent to workers hold only settings and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.cluster import end_offsets
from kafka_zk.spark.jobs.copy_plan import Resume, decode_base, encode_base, renamed_partitions, resume, spans
from kafka_zk.spark.jobs.outcome import JobError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from kafka_zk.client.producer.kafka_producer import KafkaProducer
    from kafka_zk.spark.jobs.file_store import FileStore

SPANS = "topic STRING, partition INT, source_offset BIGINT, target_offset BIGINT, record_count BIGINT"
"""The offset translation table; `topic` is the source's name."""
BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"
OTHERS_WRITE = "somebody else writes to this topic, so what was copied cannot be counted"
_SPOILED = re.compile(f"a record of this copy came to .* at offset [0-9]+, .*: {OTHERS_WRITE}")
IN_ORDER = {"acks": "all", "enable.idempotence": "true", "key.serializer": BYTES, "value.serializer": BYTES}


def copy_batch(
    records: DataFrame,
    *,
    state: FileStore,
    name: str,
    target: Mapping[str, str],
    rename: Mapping[str, str],
    partitions: list[TopicPartition],
) -> list[tuple[str, int, int, int, int]]:
    """Blocks until it is done. The rows of the translation table; `name` is the batch's, the same when done again."""
    renamed = renamed_partitions(partitions, rename)
    spoiled = state.read(f"{name}.spoiled")
    if spoiled is not None:
        raise JobError(f"{spoiled}; begin with another topic and another checkpoint")
    ends = end_offsets(target, renamed.values())
    noted = state.read(f"{name}.base")
    if noted is None:
        noted = encode_base(ends)
        state.write(f"{name}.base", noted)
    at = resume(decode_base(noted), ends)
    writer = OrderedWriter(target, {each: (to.topic, at[to]) for each, to in renamed.items()})
    placed = records.select("topic", "partition", "offset", "key", "value", "headers", "timestamp")
    placed = placed.repartition(max(1, len(partitions)), "topic", "partition")
    ordered = placed.sortWithinPartitions("topic", "partition", "offset")
    try:
        rows = ordered.mapInArrow(writer, SPANS).collect()
    except Exception as error:
        # What a worker raised is text here.
        if found := _SPOILED.search(str(error)):
            state.write(f"{name}.spoiled", found.group())
        raise
    return sorted((row[0], row[1], row[2], row[3], row[4]) for row in rows)


class OrderedWriter:
    """Called in a worker with the sorted records of some partitions; yields the spans it made sure of."""

    def __init__(self, target: Mapping[str, str], places: Mapping[TopicPartition, tuple[str, Resume]]) -> None:
        self._target = dict(target)
        self._places = dict(places)

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        from kafka_zk.client.producer.kafka_producer import KafkaProducer

        producer: KafkaProducer | None = None
        done: dict[TopicPartition, int] = {}
        try:
            for batch in batches:
                for each, rows in _by_partition(batch):
                    topic, at = self._places[each]
                    begun = done.get(each, 0)
                    done[each] = begun + rows.num_rows
                    fresh = rows.slice(max(0, min(at.written - begun, rows.num_rows)))
                    if fresh.num_rows:
                        if begun <= at.written:
                            self._check_end(TopicPartition(topic, each.partition), at)
                        producer = producer or KafkaProducer({**self._target, **IN_ORDER})
                        first = at.first_target_offset + done[each] - fresh.num_rows
                        _send(producer, TopicPartition(topic, each.partition), fresh, first)
                    made = spans(rows.column("offset").to_pylist(), at.first_target_offset + begun)
                    columns = list(zip(*made, strict=True))
                    yield pyarrow.RecordBatch.from_arrays(
                        [
                            pyarrow.array([each.topic] * len(columns[0]), pyarrow.string()),
                            pyarrow.array([each.partition] * len(columns[0]), pyarrow.int32()),
                            *(pyarrow.array(column, pyarrow.int64()) for column in columns),
                        ],
                        ["topic", "partition", "source_offset", "target_offset", "record_count"],
                    )
        finally:
            if producer is not None:
                producer.close()

    def _check_end(self, to: TopicPartition, at: Resume) -> None:
        """Before a task's first record goes to a partition: nothing came there since the driver counted."""
        planned = at.first_target_offset + at.written
        found = end_offsets(self._target, [to])[to]
        if found != planned:
            raise JobError(
                f"{to} ends at offset {found}, not {planned} as when this copy was planned: a task was cut off after "
                "it had sent records, or somebody else writes; if nobody does, the same command goes on"
            )


def _by_partition(batch: pyarrow.RecordBatch) -> Iterator[tuple[TopicPartition, pyarrow.RecordBatch]]:
    """Runs of one partition; the batch is sorted."""
    topics, indexes = batch.column("topic").to_pylist(), batch.column("partition").to_pylist()
    start = 0
    for row in range(1, batch.num_rows + 1):
        if row == batch.num_rows or (topics[row], indexes[row]) != (topics[start], indexes[start]):
            yield TopicPartition(topics[start], indexes[start]), batch.slice(start, row - start)
            start = row


def _send(producer: KafkaProducer, to: TopicPartition, rows: pyarrow.RecordBatch, first_offset: int) -> None:
    import pyarrow

    keys, values = rows.column("key").to_pylist(), rows.column("value").to_pylist()
    headers = rows.column("headers").to_pylist()
    times = rows.column("timestamp").cast(pyarrow.timestamp("ms", "UTC"), safe=False).cast(pyarrow.int64()).to_pylist()
    futures: list[Any] = [
        producer.send(
            to.topic,
            value=value,
            key=key,
            partition=to.partition,
            timestamp_ms=time_ms,
            headers=[(header["key"], header["value"]) for header in each or ()],
        )
        for key, value, time_ms, each in zip(keys, values, times, headers, strict=True)
    ]
    producer.flush()
    for number, future in enumerate(futures):
        found = future.result().offset
        if found != first_offset + number:
            raise JobError(
                f"a record of this copy came to {to} at offset {found}, not {first_offset + number}: {OTHERS_WRITE}"
            )
