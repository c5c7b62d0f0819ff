"""A producer batch: records while it is open, bytes once it is closed, a result at the end.

Role        Pure but for the futures it settles; used by one thread at a time, holding the accumulator's lock or as
            its only owner (the sender, between draining and the answer).
Invariants  Records are only added before `close`. The bytes are built from the payload and the current producer
            state, so that a batch may be retried with another sequence.
Source      Kafka 3.9 ProducerBatch.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_zk.client.producer.futures import BatchResult, RecordFuture, RecordMetadata
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.appending import BatchAppender
from kafka_zk.record.batch import HEADER_SIZE, TRANSACTIONAL_BIT, increment_sequence
from kafka_zk.record.builder import assemble
from kafka_zk.record.compression import Codec
from kafka_zk.record.types import Record
from kafka_zk.record.walking import decode

NO_SEQUENCE: Final = -1

log = logging.getLogger("org.apache.kafka.clients.producer.internals.ProducerBatch")

Callback = Callable[[RecordMetadata, Exception | None], None]
"""Called in the sender thread when a record completes, with its metadata and its error, if any."""


class ProducerBatch:
    """Records for one partition."""

    def __init__(self, topic_partition: TopicPartition, created_ms: int, allocated_bytes: int) -> None:
        self.topic_partition: TopicPartition = topic_partition
        self.result = BatchResult(topic_partition.topic, topic_partition.partition)
        self.allocated_bytes = allocated_bytes
        self.created_ms = created_ms
        self.retry_at_ms = created_ms
        self.drained_ms = created_ms
        self.attempts = 0
        self.may_be_taken = False
        self.is_closed = False
        self.is_split_part = False
        self.leader_of_attempt = -1
        self.producer_id = -1
        self.producer_epoch = -1
        self.base_sequence = NO_SEQUENCE
        self.is_transactional = False
        self.sequence_was_reset = False
        self.record_count = 0
        self.records_bytes = 0
        self.last_record_bytes = 0
        self.max_record_bytes = 0
        self.size_bytes = 0
        self._is_done = False
        self._appender = BatchAppender()
        self._callbacks: list[tuple[RecordFuture, Callback]] = []
        self._payload: bytes | bytearray = b""
        self._codec = 0
        self._base_timestamp = -1
        self._max_timestamp = -1

    def __repr__(self) -> str:
        return (
            f"ProducerBatch({self.topic_partition} count={self.record_count} sequence={self.base_sequence} "
            f"attempts={self.attempts})"
        )

    # --- while it is open --------------------------------------------------------------------------------------------

    def append(
        self,
        timestamp: int,
        key: Any,
        value: Any,
        headers: Sequence[Any],
        callback: Callback | None,
        limit_bytes: int,
        ratio: float,
    ) -> RecordFuture | None:
        """Add a record; None if it does not fit."""
        size = self._appender.append(timestamp, key, value, headers, limit_bytes, ratio)
        if size == 0:
            return None
        future = RecordFuture(
            self.result,
            self.record_count,
            timestamp,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
        )
        self.record_count += 1
        self.records_bytes += size
        self.last_record_bytes = size
        if size > self.max_record_bytes:
            self.max_record_bytes = size
        if callback is not None:
            self._callbacks.append((future, callback))
        return future

    def is_full(self, limit_bytes: int, ratio: float) -> bool:
        """Whether nothing more may be added."""
        return self.is_closed or HEADER_SIZE + self.records_bytes * ratio >= limit_bytes

    def close(self, codec: Codec, level: int | None) -> None:
        """Encode the records. Idempotent. Compressing a large batch takes time."""
        if self.size_bytes:
            return
        self.is_closed = True
        appender = self._appender
        payload: bytes | bytearray = appender.payload()
        self._base_timestamp, self._max_timestamp = appender.base_timestamp, appender.max_timestamp
        self._codec = int(codec)
        self._payload = payload if codec is Codec.NONE else codec.compress(payload, level)
        self.size_bytes = HEADER_SIZE + len(self._payload)
        self._appender = BatchAppender()

    # --- once it is closed -------------------------------------------------------------------------------------------

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        return increment_sequence(self.base_sequence, self.record_count - 1)

    @property
    def is_compressed(self) -> bool:
        return self._codec != 0

    @property
    def is_retried(self) -> bool:
        """Whether it was sent before and waits to be sent again."""
        return self.attempts > 0

    @property
    def compression_ratio(self) -> float:
        """Compressed size divided by the records' size."""
        return len(self._payload) / max(1, self.records_bytes)

    def stamp(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Set the producer state to send it under."""
        self.producer_id, self.producer_epoch, self.base_sequence = producer_id, producer_epoch, base_sequence

    def to_bytes(self) -> bytearray:
        """The batch as sent to the broker."""
        return assemble(
            self._payload,
            base_offset=0,
            leader_epoch=-1,
            attributes=self._codec | (TRANSACTIONAL_BIT if self.is_transactional else 0),
            last_offset_delta=self.record_count - 1,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            count=self.record_count,
        )

    # --- its end -----------------------------------------------------------------------------------------------------

    @property
    def is_done(self) -> bool:
        """Whether its outcome is decided."""
        return self._is_done

    def succeed(self, base_offset: int, log_append_time_ms: int) -> bool:
        """The broker appended it. Returns whether it was not completed before."""
        if self._is_done:
            return False
        self.result.base_offset = base_offset
        self.result.log_append_time_ms = log_append_time_ms
        self._finish()
        return True

    def fail(self, error_of: Callable[[int], Exception]) -> bool:
        """Fail it; `error_of` gives each record's error by its index. Returns whether it was not completed before."""
        if self._is_done:
            return False
        self.result.error_of = error_of
        self._finish()
        return True

    def split(self, limit_bytes: int, codec: Codec, level: int | None) -> list[ProducerBatch]:
        """Smaller batches with the same records, of at most `limit_bytes` before compression; they replace it."""
        payload = Codec(self._codec).decompress(self._payload)
        records: list[Record] = decode(payload, 0, len(payload), self.record_count, self._base_timestamp, 0)
        callbacks = {future.index: callback for future, callback in self._callbacks}
        parts: list[ProducerBatch] = []
        first_indexes: list[int] = []
        for index, record in enumerate(records):
            _, timestamp, key, value, headers = record
            callback = callbacks.get(index)
            if not parts or not parts[-1].append(timestamp, key, value, headers, callback, limit_bytes, 1.0):
                part = ProducerBatch(self.topic_partition, self.created_ms, 0)
                part.is_split_part = True
                part.is_transactional = self.is_transactional
                part.append(timestamp, key, value, headers, callback, limit_bytes, 1.0)
                first_indexes.append(index)
                parts.append(part)
        for part in parts:
            part.close(codec, level)
        if self.has_sequence:
            sequence = self.base_sequence
            for part in parts:
                part.stamp(self.producer_id, self.producer_epoch, sequence)
                sequence = increment_sequence(sequence, part.record_count)
        # Done last: if compressing a part fails, this batch stays as it was.
        self.result.parts.extend((index, part.result) for index, part in zip(first_indexes, parts, strict=True))
        self._is_done = True
        self.result.settle()
        return parts

    def _finish(self) -> None:
        """Callbacks run before futures complete: a thread that waits for a record knows that its callback has run."""
        self._is_done = True
        error_of = self.result.error_of
        for future, callback in self._callbacks:
            error = None if error_of is None else error_of(future.index)
            try:
                callback(future.metadata(), error)
            except BaseException:
                # Any exception of the program, SystemExit and gevent.Timeout too: other records must still complete.
                log.exception(
                    "Error executing user-provided callback on message for topic-partition '%s'", self.topic_partition
                )
        self._callbacks.clear()
        self.result.settle()
