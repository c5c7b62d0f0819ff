"""Reads one piece of a partition as Arrow batches, in a task.

Role        Acts, in a worker: makes its own client, keeps nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from kafka_zk.client.range_reading.errors import CorruptRange, EndBeyondLog, OffsetsLost, RangeError, TopicReplaced
from kafka_zk.client.range_reading.range_reader import RangeReader
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import NULL_UUID, TopicPartition, uuid_from_base64
from kafka_zk.record.batch import Batch
from kafka_zk.record.columns.batches import append_batch
from kafka_zk.record.columns.building import ColumnBuilder
from kafka_zk.spark.client_secrets import resolved
from kafka_zk.spark.sources.errors import DataLossError, SourceError
from kafka_zk.spark.sources.kafka.settings import ReadSettings
from kafka_zk.spark.sources.ranges import OffsetRange
from kafka_zk.spark.sources.schema import BATCH_BYTES, BATCH_ROWS, BatchMaker

log = logging.getLogger(__name__)


@dataclass
class KafkaInputPartition(InputPartition):
    """A piece of a partition, as Spark sends it to a task."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int
    topic_id: str = ""
    """Of the topic that was planned; empty where it has none that is known."""


def input_partitions(pieces: list[OffsetRange], topic_ids: Mapping[str, str]) -> list[KafkaInputPartition]:
    """One for each piece; `topic_ids` as text, by topic."""
    return [
        KafkaInputPartition(
            *each.topic_partition, each.start_offset, each.end_offset, topic_ids.get(each.topic_partition.topic, "")
        )
        for each in pieces
    ]


def read_piece(settings: ReadSettings, piece: KafkaInputPartition) -> Iterator[pa.RecordBatch]:
    """Blocks in each step. Raises DataLossError, SourceError."""
    columns = ColumnBuilder(with_headers=settings.include_headers)
    maker = BatchMaker(piece.topic, piece.partition, include_headers=settings.include_headers)
    with RangeReader(resolved(settings.client)) as reader:
        for batch in _batches(reader, settings, piece):
            try:
                append_batch(columns, batch, first_offset=piece.start_offset, end_offset=piece.end_offset)
            except BrokerError as error:
                header = batch.header
                partition = TopicPartition(piece.topic, piece.partition)
                raise SourceError(
                    str(CorruptRange(partition, header.base_offset, header.last_offset, str(error)))
                ) from error
            if columns.row_count >= BATCH_ROWS or columns.size_bytes >= BATCH_BYTES:
                yield maker.batch(columns.take())
    if columns.row_count:
        yield maker.batch(columns.take())


def _batches(reader: RangeReader, settings: ReadSettings, piece: KafkaInputPartition) -> Iterator[Batch]:
    """The batches of the range; with failOnDataLoss=false without deleted records."""
    partition, position = TopicPartition(piece.topic, piece.partition), piece.start_offset
    topic_id = uuid_from_base64(piece.topic_id) if piece.topic_id else NULL_UUID
    while True:
        try:
            yield from reader.read(partition, position, piece.end_offset, topic_id)
            return
        except (OffsetsLost, EndBeyondLog, TopicReplaced) as error:
            if settings.fail_on_data_loss:
                raise DataLossError(str(error)) from error
            log.warning("%s", error)
            if not isinstance(error, OffsetsLost) or error.log_start_offset >= piece.end_offset:
                return
            position = error.log_start_offset
        except (RangeError, BrokerError) as error:
            raise SourceError(str(error)) from error
