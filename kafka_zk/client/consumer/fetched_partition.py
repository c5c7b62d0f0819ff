"""Fetched data of one partition: batches in, records out.

Role        Pure. Decodes one batch at a time, so only one batch's records are in memory besides the response.
Invariants  Records are returned in offset order, none below the offset that was fetched, none twice.
            `next_offset` also skips what holds no record: control batches, aborted transactions, compacted holes.
            Under read_committed no record of an aborted transaction is returned.
Source      CompletedFetch (fetchRecords, nextFetchedRecord, consumeAbortedTransactionsUpTo), FetchCollector.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafka_zk.client.consumer.decoding import decode_batch
from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import BrokerError, CorruptMessage
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import HEADER_SIZE, Batch, batches
from kafka_zk.record.compression import codec_for_id
from kafka_zk.record.control import ControlType, marker_of
from kafka_zk.record.record import decode_records
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.types import Buffer


class AbortedTransaction(NamedTuple):
    """A producer's aborted transaction, from this offset up to its marker."""

    first_offset: int
    producer_id: int


class FetchedPartition:
    """Bytes of one partition from `fetch_offset` on. `aborted` is None unless only committed records are wanted."""

    def __init__(
        self,
        partition: TopicPartition,
        records: Buffer,
        fetch_offset: int,
        *,
        check_crcs: bool = True,
        aborted: Iterable[AbortedTransaction] | None = None,
    ) -> None:
        """Raises CorruptMessage when the bytes do not begin with a batch."""
        self.partition = partition
        self.fetch_offset = fetch_offset
        self.next_offset = fetch_offset
        self.last_leader_epoch: int | None = None
        self.size_bytes = len(records)
        self.record_count = 0
        self._check_crcs = check_crcs
        self._batches: deque[Batch] = deque(batches(records))
        self._read_committed = aborted is not None
        self._aborted = deque(sorted(aborted or ()))
        self._aborting: set[int] = set()
        self._decoded: Sequence[ConsumerRecord] = ()
        self._taken = 0
        self._after_batch = fetch_offset
        self._failure: Exception | None = None

    def __repr__(self) -> str:
        return f"{self.partition} fetched at {self.fetch_offset}, next {self.next_offset}, batches={len(self._batches)}"

    @property
    def holds_a_batch(self) -> bool:
        """Whether any data is left to decode."""
        return bool(self._batches) or self._taken < len(self._decoded)

    @property
    def end_offset(self) -> int:
        """Where the next fetch of this partition has to begin."""
        if not self._batches:
            return max(self.next_offset, self._after_batch)
        last = self._batches[-1].header
        return last.next_offset

    def take(self, count: int) -> list[ConsumerRecord]:
        """Up to `count` records; fewer only when there are no more.

        Raises KafkaException for a batch that cannot be read; the call before has returned the records before it.
        """
        taken: list[ConsumerRecord] = []
        while len(taken) < count:
            if self._taken == len(self._decoded) and not self._decode_next(bool(taken)):
                break
            fresh = self._decoded[self._taken : self._taken + count - len(taken)]
            self._taken += len(fresh)
            taken += fresh
            if fresh:
                self.next_offset = fresh[-1].offset + 1
            if self._taken == len(self._decoded):
                self.next_offset = max(self.next_offset, self._after_batch)
        self.record_count += len(taken)
        return taken

    def _decode_next(self, may_wait: bool) -> bool:
        """Decode the next visible batch; False at the end, or to leave its error to the next call."""
        while self._batches and self._failure is None:
            batch = self._batches[0]
            try:
                decoded = self._records_of(batch)
            except BrokerError as error:
                self._failure = error
                break
            self._batches.popleft()
            self._decoded, self._taken = decoded, 0
            if batch.header.partition_leader_epoch >= 0:
                self.last_leader_epoch = batch.header.partition_leader_epoch
            end = decoded[-1].offset + 1 if decoded else 0
            # A legacy wrapper's offset is that of its last message; that of magic 2 includes compacted records.
            self._after_batch = max(batch.header.next_offset, end)
            if decoded:
                return True
            self.next_offset = max(self.next_offset, self._after_batch)
        if self._failure is not None and not may_wait:
            raise KafkaException(
                f"Received exception when fetching the next record from {self.partition}. "
                "If needed, please seek past the record to continue consumption."
            ) from self._failure
        return False

    def _records_of(self, batch: Batch) -> Sequence[ConsumerRecord]:
        header = batch.header
        if header.magic == 2 and header.next_offset <= self.next_offset:
            return ()
        if self._check_crcs and not batch.is_valid():
            raise CorruptMessage(
                f"Record batch for partition {self.partition} at offset {header.base_offset} is invalid, "
                "cause: Record is corrupt"
            )
        if header.is_control:
            self._note_marker(batch)
            return ()
        if self._read_committed and header.has_producer_id and self._is_aborted(batch):
            return ()
        return self._legacy(batch) if header.magic < 2 else self._decode(batch)

    def _is_aborted(self, batch: Batch) -> bool:
        header = batch.header
        while self._aborted and self._aborted[0].first_offset <= header.last_offset:
            self._aborting.add(self._aborted.popleft().producer_id)
        return header.is_transactional and header.producer_id in self._aborting

    def _note_marker(self, batch: Batch) -> None:
        if not self._read_committed:
            return
        self._is_aborted(batch)
        marker = marker_of(batch)
        if marker is not None and marker.control_type is ControlType.ABORT:
            self._aborting.discard(batch.header.producer_id)

    def _decode(self, batch: Batch) -> list[ConsumerRecord]:
        header = batch.header
        buffer: Buffer = batch.buffer
        start, end = batch.position + HEADER_SIZE, batch.end
        if header.is_compressed and header.record_count > 0:
            buffer = codec_for_id(header.codec_id).decompress(batch.payload)
            start, end = 0, len(buffer)
        appended = header.uses_log_append_time
        return decode_batch(
            buffer,
            start,
            end,
            header.record_count,
            self.partition.topic,
            self.partition.partition,
            header.base_offset,
            header.base_timestamp,
            header.max_timestamp if appended else None,
            TimestampType.LOG_APPEND_TIME if appended else TimestampType.CREATE_TIME,
            header.partition_leader_epoch if header.partition_leader_epoch >= 0 else None,
            self.next_offset,
        )

    def _legacy(self, batch: Batch) -> list[ConsumerRecord]:
        header = batch.header
        kind = None
        if header.magic == 1:
            kind = TimestampType.LOG_APPEND_TIME if header.uses_log_append_time else TimestampType.CREATE_TIME
        topic, number = self.partition
        return [
            ConsumerRecord(topic, number, record.offset, record.timestamp, kind, record.key, record.value)
            for record in decode_records(batch)
            if record.offset >= self.next_offset
        ]
