"""A batch read of segment files: one task per segment, those outside of the wanted range left out.

Role        Plans on the driver, reads in workers; both must see the directories.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kafka_zk.client.range_reading.visible_batches import AbortedTransactions
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.columns.batches import append_batch
from kafka_zk.record.columns.building import ColumnBuilder
from kafka_zk.spark.sources.errors import DataLossError, SourceError
from kafka_zk.spark.sources.log.directories import find_partitions
from kafka_zk.spark.sources.log.segments import Log, Segment, batches_from, open_log
from kafka_zk.spark.sources.log.settings import LogSettings
from kafka_zk.spark.sources.log.times import offset_for_time
from kafka_zk.spark.sources.log.transactions import aborted_transactions, last_stable_offset
from kafka_zk.spark.sources.offset_limits import EARLIEST, LATEST, NOT_FOUND, OffsetLimit
from kafka_zk.spark.sources.schema import BATCH_BYTES, BATCH_ROWS, BatchMaker

log = logging.getLogger(__name__)


@dataclass
class SegmentInputPartition(InputPartition):
    """A segment, and which of its offsets a task reads."""

    topic: str
    partition: int
    path: str
    base_offset: int
    size_bytes: int
    start_offset: int
    end_offset: int
    aborted: list[tuple[int, int]] | None = field(default=None)
    """(first offset, producer id) of aborted transactions, for a reader of committed records."""


class LogReader(DataSourceReader):
    """Holds settings only."""

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings

    def partitions(self) -> list[SegmentInputPartition]:
        """Blocks. Raises SourceError, SourceOptionError, DataLossError."""
        wanted = self._settings.subscription
        places = [each for each in find_partitions(self._settings.paths) if wanted.has(each.topic_partition)]
        missing = {*wanted.topics, *wanted.assigned} - {each.topic_partition for each in places}
        missing -= {each.topic_partition.topic for each in places}
        if missing or not places:
            named = ", ".join(sorted(map(str, missing))) or str(wanted)
            raise SourceError(f"There is no {named} in {', '.join(map(str, self._settings.paths))}.")
        logs = {place.topic_partition: open_log(place) for place in places}
        for each in logs.values():
            self._judge_damage(each)
        ends = {partition: self._readable_end(each) for partition, each in logs.items()}
        starts = self._resolved(self._settings.start, logs, ends)
        wanted_ends = self._resolved(self._settings.end, logs, ends)
        pieces = []
        for partition, each in logs.items():
            start, end = self._checked(partition, each, starts[partition], wanted_ends[partition], ends[partition])
            pieces += self._pieces(partition, each, start, end)
        return pieces

    def read(self, partition: SegmentInputPartition | None) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        # Without any partition Spark asks for one that is none.
        if not isinstance(partition, SegmentInputPartition):
            return iter(())
        return read_segment(partition, include_headers=self._settings.include_headers)

    def _readable_end(self, each: Log) -> int:
        return last_stable_offset(each) if self._settings.read_committed else each.log_end_offset

    def _resolved(
        self, limit: OffsetLimit, logs: dict[TopicPartition, Log], ends: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        found = {}
        for partition, number in limit.look_ups(logs).items():
            if number == LATEST:
                found[partition] = ends[partition]
            elif number == EARLIEST:
                found[partition] = logs[partition].log_start_offset
            else:
                offset = offset_for_time(logs[partition], number)
                found[partition] = NOT_FOUND if offset is None else offset
        return {partition: limit.resolve(partition, found, ends) for partition in logs}

    def _checked(
        self, partition: TopicPartition, each: Log, start: int, end: int, readable_end: int
    ) -> tuple[int, int]:
        if start < each.log_start_offset and end > start:
            self._lost(
                f"Offsets {start} to {min(end, each.log_start_offset) - 1} of partition {partition} are not in "
                f"{each.place.directory}: its log starts at offset {each.log_start_offset}."
            )
        if max(start, end) > readable_end:
            self._lost(
                f"The range of offsets {start} to {max(start, end - 1)} of partition {partition} lies beyond the end "
                f"of the log in {each.place.directory}, offset {readable_end}."
            )
        return max(start, each.log_start_offset), min(end, readable_end)

    def _pieces(self, partition: TopicPartition, each: Log, start: int, end: int) -> list[SegmentInputPartition]:
        aborted = aborted_transactions(each, start, end) if self._settings.read_committed else None
        pieces = []
        for segment in each.segments:
            first, behind_last = max(start, segment.base_offset), min(end, segment.end_offset)
            if first < behind_last:
                hidden = None
                if aborted is not None:
                    hidden = [
                        (entry.first_offset, entry.producer_id)
                        for entry in aborted
                        if entry.first_offset < behind_last and entry.last_offset >= first
                    ]
                pieces.append(
                    SegmentInputPartition(
                        *partition,
                        str(segment.path),
                        segment.base_offset,
                        segment.size_bytes,
                        first,
                        behind_last,
                        hidden,
                    )
                )
        return pieces

    def _judge_damage(self, each: Log) -> None:
        if not each.damage:
            return
        if each.is_torn:
            log.warning("%s. Skipping it, since a broker's start would truncate the log there.", each.damage)
        else:
            self._lost(f"{each.damage}.")

    def _lost(self, what: str) -> None:
        if self._settings.fail_on_data_loss:
            raise DataLossError(f"{what} Set failOnDataLoss=false to continue with the records that are left.")
        log.warning("%s", what)


def read_segment(piece: SegmentInputPartition, *, include_headers: bool) -> Iterator[pa.RecordBatch]:
    """Blocks in each step. Raises SourceError."""
    columns = ColumnBuilder(with_headers=include_headers)
    maker = BatchMaker(piece.topic, piece.partition, include_headers=include_headers)
    aborted = None if piece.aborted is None else AbortedTransactions(piece.aborted)
    segment = Segment(Path(piece.path), piece.base_offset, piece.end_offset, piece.size_bytes)
    for each in batches_from(segment, piece.start_offset):
        if each.header.base_offset >= piece.end_offset and each.header.magic >= 2:
            break
        batch = each.batch()
        if batch is None:
            raise SourceError(f"{piece.path} has a batch at byte {each.position} that is too large to read.")
        if aborted is not None and aborted.hides(batch):
            continue
        try:
            append_batch(columns, batch, first_offset=piece.start_offset, end_offset=piece.end_offset)
        except BrokerError as error:
            raise SourceError(
                f"{piece.path} has a batch at byte {each.position}, of offsets {each.header.base_offset} to "
                f"{each.header.last_offset}, that cannot be decoded: {error}"
            ) from error
        if columns.row_count >= BATCH_ROWS or columns.size_bytes >= BATCH_BYTES:
            yield maker.batch(columns.take())
    if columns.row_count:
        yield maker.batch(columns.take())
