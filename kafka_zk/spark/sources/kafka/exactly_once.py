"""A part of a micro-batch as one transaction, and how a later try knows that it was committed.

Role        Acts in workers, through a transactional producer and a consumer.
Rule        The rows of one task of one micro-batch are a part. Its transaction also commits an offset: of the group
            that has the name of the query and the task, the number of the batch that follows. So either the rows and
            the mark are there, or neither. Whoever tries the part again gets the transactional.id first: that ends what
            an earlier try left open, and fences it; then the mark says what became of it.
Invariants  A part with a mark of its batch, or of a later one, is not written again.
            If the rows of a marked part are others than those that were written, the task fails: the plan divided the
            batch in another way, and rows would be missing or there twice.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark import TaskContext

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.errors import (
    GroupAuthorizationFailed,
    InvalidProducerEpoch,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.errors import SourceError

# Source: MicroBatchExecution.BATCH_ID_KEY, StreamExecution.QUERY_ID_KEY.
BATCH_ID = "streaming.sql.batchId"
QUERY_ID = "sql.streaming.queryId"
PREFIX = "kafka_zk-sink-"
TRANSACTION_TIMEOUT_MS = 300_000
"""Longer than a task takes, as a rule: else the coordinator aborts it, and the task is tried again."""
_DIGITS = 1 << 64
_CLIENT_OF_BOTH = ("bootstrap.servers", "client.", "security.", "ssl.", "sasl.", "request.timeout.ms", "socket.")


class Part(NamedTuple):
    """The rows of one task of one micro-batch of one query."""

    query_id: str
    batch_id: int
    task: int

    @property
    def name(self) -> str:
        """The transactional.id and the group of this task in all batches."""
        return f"{PREFIX}{self.query_id}-{self.task}"


def part_of(context: TaskContext | None) -> Part:
    """The part that the running task writes. Raises SourceError outside of a streaming query."""
    if context is not None:
        query_id, batch_id = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        if query_id is not None and batch_id is not None:
            return Part(query_id, int(batch_id), context.partitionId())
    raise SourceError(
        "exactlyOnce needs a streaming query, or foreachBatch of one: Spark did not say which micro-batch this is"
    )


def advice(error: Exception) -> str:
    """What to say behind an error of a part's client that has a known remedy; else nothing."""
    if isinstance(error, GroupAuthorizationFailed | TransactionalIdAuthorizationFailed):
        return f" (exactlyOnce needs WRITE for the transactional ids and READ for the groups named {PREFIX}...)"
    if isinstance(error, ProducerFenced | InvalidProducerEpoch):
        return (
            " (another try of this task has begun, or this one took longer than kafka.transaction.timeout.ms: "
            "raise it, or read smaller batches with maxOffsetsPerTrigger)"
        )
    return ""


class Rows:
    """What is remembered of the rows of a part, whatever their order: how many, and a sum of their checksums."""

    def __init__(self) -> None:
        self.count = 0
        self._sum = 0

    def __str__(self) -> str:
        return f"{self.count} {self._sum:016x}"

    def add(
        self,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        headers: Sequence[tuple[str, bytes | None]],
    ) -> None:
        self.count += 1
        digest = zlib.crc32(repr((key, value, partition, headers)).encode())
        # Squared: a sum of checksums alone would not see two bits that change places.
        self._sum = (self._sum + digest * digest) % _DIGITS


class PartWriter:
    """The transaction of one part. Close its producer afterwards: what is open is aborted."""

    def __init__(self, producer: KafkaProducer, client: Mapping[str, str], part: Part, topic: str) -> None:
        """Blocks. Fence earlier tries, and look what they left. Raises BrokerError, KafkaException."""
        self.rows = Rows()
        self._producer = producer
        self._part = part
        self._place = TopicPartition(topic, 0)
        producer.init_transactions()
        mark = _mark_of(client, part.name, self._place)
        self._written: str | None = None
        if mark is not None and mark.offset > part.batch_id:
            # Of a later batch nothing is known about this one's rows, but that they are there.
            self._written = mark.metadata if mark.offset == part.batch_id + 1 else ""
        else:
            producer.begin_transaction()

    @property
    def is_written(self) -> bool:
        """Whether an earlier try committed it: then its rows are only counted."""
        return self._written is not None

    def finish(self) -> None:
        """Blocks. Commit rows and mark, or compare the rows with those that were committed.

        Raises SourceError, BrokerError, KafkaException.
        """
        if self._written is None:
            mark = OffsetAndMetadata(self._part.batch_id + 1, str(self.rows))
            self._producer.send_offsets_to_transaction({self._place: mark}, ConsumerGroupMetadata(self._part.name))
            self._producer.commit_transaction()
        elif self._written not in ("", str(self.rows)):
            raise SourceError(
                f"Task {self._part.task} of batch {self._part.batch_id} wrote other rows to {self._place.topic} before "
                f"({self._written}, now {self.rows}): the query gives other rows, or divides them in another way, when "
                "a batch is repeated, so they cannot be written exactly once"
            )


def _mark_of(client: Mapping[str, str], group: str, place: TopicPartition) -> OffsetAndMetadata | None:
    properties = {name: value for name, value in client.items() if name.startswith(_CLIENT_OF_BOTH)}
    bytes_as_they_are = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    given = {"key.deserializer": bytes_as_they_are, "value.deserializer": bytes_as_they_are, "group.id": group}
    with KafkaConsumer({**properties, **given, "enable.auto.commit": False}) as consumer:
        return consumer.committed([place])[place]
