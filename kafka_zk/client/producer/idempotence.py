"""The idempotent producer: its id and epoch, and the sequences of every partition.

Role        Pure. Used by the sender thread only (the accumulator calls it while draining).
Invariants  A partition's batches carry consecutive sequences under one producer id and epoch.
            A sequence that was sent is not given to other records under the same epoch: if records were given
            up, the epoch is raised and waiting batches start at 0. Batches sent before them complete first:
            under another epoch the broker could not deduplicate them.
Source      Kafka 3.9 TransactionManager and TxnPartitionEntry, their idempotent part; KIP-98, KIP-360.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_zk.client.producer.producer_batch import ProducerBatch
from kafka_zk.protocol.errors import ErrorCode, error_class_for, is_retriable
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import increment_sequence

NO_PRODUCER_ID: Final = -1
NO_OFFSET: Final = -1
EPOCH_MAX: Final = 32767
FATAL_CODES: Final = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION)
"""Of a batch: this producer cannot send any."""

log = logging.getLogger("org.apache.kafka.clients.producer.internals.TransactionManager")


class ProducerState(NamedTuple):
    """The id and epoch from InitProducerId; the epoch may have been raised locally."""

    producer_id: int
    epoch: int


NO_STATE: Final = ProducerState(NO_PRODUCER_ID, -1)


@dataclass(slots=True)
class PartitionSequences:
    """One partition's sequence state. `in_flight` are the batches that carry a sequence, in order."""

    state: ProducerState
    next_sequence: int = 0
    last_acked_sequence: int = -1
    last_acked_offset: int = NO_OFFSET
    in_flight: deque[ProducerBatch] = field(default_factory=deque)


class Idempotence:
    """The state of one idempotent producer."""

    def __init__(self) -> None:
        self.state = NO_STATE
        self.fatal_error: Exception | None = None
        self._partitions: dict[TopicPartition, PartitionSequences] = {}
        self._to_rewrite: set[TopicPartition] = set()
        self._unresolved: dict[TopicPartition, int] = {}
        self._gaps: dict[TopicPartition, int] = {}
        """The first sequence of given-up batches that no broker accepted: later ones would be refused."""

    def __repr__(self) -> str:
        return f"{self.state} partitions={len(self._partitions)} unresolved={sorted(self._unresolved)}"

    # --- the producer's id -------------------------------------------------------------------------------------------

    @property
    def needs_id(self) -> bool:
        """Whether InitProducerId must be sent before any batch."""
        return self.state.producer_id == NO_PRODUCER_ID and self.fatal_error is None

    def take_id(self, producer_id: int, producer_epoch: int) -> None:
        """InitProducerId was answered."""
        self.state = ProducerState(producer_id, producer_epoch)
        log.info("ProducerId set to %s with epoch %s", producer_id, producer_epoch)

    def raise_epoch_if_needed(self) -> None:
        """Start again under the next epoch if the sequences cannot be continued. Call it before draining."""
        self._close_gaps()
        if not self._to_rewrite or self.needs_id:
            return
        if self.state.epoch >= EPOCH_MAX:
            self.state = NO_STATE
            return
        self.state = ProducerState(self.state.producer_id, self.state.epoch + 1)
        log.info("ProducerId set to %s with epoch %s", *self.state)
        for partition in sorted(self._to_rewrite):
            self._begin_again(self._entry(partition))
            self._unresolved.pop(partition, None)
            self._gaps.pop(partition, None)
        self._to_rewrite.clear()

    def resolve(self) -> None:
        """Check the partitions of expired batches: once nothing is in flight there, their outcome is known."""
        for partition in sorted(self._unresolved):
            entry = self._entry(partition)
            if entry.in_flight:
                continue
            if not self._is_next(entry, entry.next_sequence):
                # Expired batches may have been appended or not: their sequences are not reused.
                self._to_rewrite.add(partition)
            del self._unresolved[partition]

    def _close_gaps(self) -> None:
        """Start again after given-up batches, once all before them have completed."""
        for partition, sequence in self._gaps.items():
            in_flight = self._entry(partition).in_flight
            if not in_flight or is_at_or_after(in_flight[0].base_sequence, sequence):
                self._to_rewrite.add(partition)

    # --- draining ----------------------------------------------------------------------------------------------------

    def may_drain(self, batch: ProducerBatch) -> bool:
        """Whether the first batch of a partition's queue may be sent now."""
        if self.needs_id or self.fatal_error is not None:
            return False
        partition = batch.topic_partition
        entry = self._partitions.get(partition)
        if entry is None:
            return True
        if not batch.has_sequence:
            if partition in self._unresolved or partition in self._gaps:
                return False
            return not (entry.in_flight and entry.state != self.state)
        # Of retried batches only the first may be sent: the others follow once it is acknowledged.
        return not entry.in_flight or entry.in_flight[0].base_sequence == batch.base_sequence

    def awaits_first_answer(self, batch: ProducerBatch) -> bool:
        """Whether a batch has to wait until the broker has accepted the first one under this epoch.

        A broker that knows nothing of a producer accepts any sequence (ProducerAppendInfo.checkSequence): if the first
        batch failed, the second would be accepted, and a retry of the first be out of order for ever.
        """
        if batch.has_sequence:
            return False
        entry = self._partitions.get(batch.topic_partition)
        return entry is not None and bool(entry.in_flight) and entry.last_acked_sequence == -1

    def stamp(self, batch: ProducerBatch) -> None:
        """Give a batch that is sent for the first time its sequence. Called for every batch that is sent."""
        if batch.has_sequence:
            # Later errors concern its current sequence.
            batch.sequence_was_reset = False
            return
        entry = self._entry(batch.topic_partition)
        if entry.state != self.state and not entry.in_flight:
            self._begin_again(entry)
        batch.stamp(*entry.state, entry.next_sequence)
        entry.next_sequence = increment_sequence(entry.next_sequence, batch.record_count)
        entry.in_flight.append(batch)

    def replaced(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        """A batch was split into parts that divide its sequences among them."""
        entry = self._entry(batch.topic_partition)
        place = entry.in_flight.index(batch)
        batches = list(entry.in_flight)
        entry.in_flight = deque([*batches[:place], *parts, *batches[place + 1 :]])

    # --- outcomes ----------------------------------------------------------------------------------------------------

    def succeeded(self, batch: ProducerBatch, base_offset: int) -> None:
        """The broker appended it, or had it already."""
        entry = self._entry(batch.topic_partition)
        is_current = (batch.producer_id, batch.producer_epoch) == entry.state
        is_later = is_at_or_after(batch.last_sequence, entry.last_acked_sequence)
        if is_current and is_later:
            entry.last_acked_sequence = batch.last_sequence
        if base_offset != NO_OFFSET:
            last_offset = base_offset + batch.record_count - 1
            entry.last_acked_offset = max(entry.last_acked_offset, last_offset)
        self._forget(entry, batch)

    def may_retry(self, batch: ProducerBatch, error: ErrorCode, log_start_offset: int) -> bool:
        """Whether a batch that failed may be sent again; notes if that needs a new epoch."""
        partition = batch.topic_partition
        entry = self._entry(partition)
        if error == ErrorCode.UNKNOWN_PRODUCER_ID:
            # The broker lost this producer's state, usually by retention.
            if log_start_offset != -1 and not batch.sequence_was_reset:
                self._to_rewrite.add(partition)
            return True
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            if batch.sequence_was_reset:
                # The response concerns its previous sequence.
                return True
            # Otherwise one before it failed, and will be sent again first.
            if self._is_next(entry, batch.base_sequence) or (entry.in_flight and entry.in_flight[0] is batch):
                self._to_rewrite.add(partition)
            return True
        return is_retriable(error)

    def failed(
        self,
        batch: ProducerBatch,
        error: ErrorCode | None,
        *,
        may_have_been_taken: bool,
        exception: Exception | None = None,
    ) -> None:
        """A batch was given up. `may_have_been_taken`: it was sent, and its retries or its time ran out.

        `exception` is what its first record fails with.
        """
        if error in FATAL_CODES:
            self.fatal_error = exception or error_class_for(error)()
        partition = batch.topic_partition
        entry = self._entry(partition)
        self._forget(entry, batch)
        if self.fatal_error is not None:
            return
        if error == ErrorCode.UNKNOWN_PRODUCER_ID:
            self._begin_again(entry)
        elif error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            log.error("The broker returned %s for topic-partition %s with producerId %s, epoch %s, sequence number %s",
                      error.name, partition, batch.producer_id, batch.producer_epoch, batch.base_sequence)  # fmt: skip
            self._leave_gap(batch)
        elif not may_have_been_taken and batch.has_sequence:
            self._leave_gap(batch)

    def expired(self, batch: ProducerBatch) -> None:
        """A batch expired after it was sent: later ones wait until its outcome is known."""
        follower = increment_sequence(batch.base_sequence, batch.record_count)
        known = self._unresolved.get(batch.topic_partition, 0)
        self._unresolved[batch.topic_partition] = max(follower, known)

    def _leave_gap(self, batch: ProducerBatch) -> None:
        known = self._gaps.get(batch.topic_partition, batch.base_sequence)
        is_before = is_at_or_after(known, batch.base_sequence)
        self._gaps[batch.topic_partition] = batch.base_sequence if is_before else known

    def _entry(self, partition: TopicPartition) -> PartitionSequences:
        entry = self._partitions.get(partition)
        if entry is None:
            entry = self._partitions[partition] = PartitionSequences(self.state)
        return entry

    def _begin_again(self, entry: PartitionSequences) -> None:
        """Give batches still to be sent new sequences from 0, under the current producer state."""
        entry.state = self.state
        entry.next_sequence = 0
        entry.last_acked_sequence = -1
        for batch in entry.in_flight:
            batch.stamp(*entry.state, entry.next_sequence)
            batch.sequence_was_reset = True
            entry.next_sequence = increment_sequence(entry.next_sequence, batch.record_count)

    @staticmethod
    def _is_next(entry: PartitionSequences, sequence: int) -> bool:
        return sequence == increment_sequence(entry.last_acked_sequence, 1)

    @staticmethod
    def _forget(entry: PartitionSequences, batch: ProducerBatch) -> None:
        if batch in entry.in_flight:
            entry.in_flight.remove(batch)


def is_at_or_after(sequence: int, other: int) -> bool:
    """Also after a wrap."""
    return (sequence - other) & 0x7FFFFFFF < 1 << 30
