"""The sequences of a transactional producer: as an idempotent one's, but a gap costs the transaction.

Role        Pure. Used by the sender thread only (the accumulator calls it while draining).
Invariants  A new epoch comes from the coordinator, after the transaction was aborted; never from here.
            Batches behind one that was refused take over its sequences: what is in flight ends before the abort.
Source      Kafka 3.9 TransactionManager and TxnPartitionEntry, their transactional part; KIP-360.
"""

from __future__ import annotations

from kafka_zk.client.errors import wrapped
from kafka_zk.client.producer.idempotence import (
    NO_OFFSET,
    Idempotence,
    PartitionSequences,
    ProducerState,
    is_at_or_after,
)
from kafka_zk.client.producer.producer_batch import ProducerBatch
from kafka_zk.client.producer.transactions.transaction_manager import TransactionManager
from kafka_zk.protocol.errors import ErrorCode, is_retriable
from kafka_zk.record.batch import increment_sequence


class TransactionalSequences(Idempotence):
    """The sequences of one transactional producer; `manager` is told what was given up."""

    def __init__(self, manager: TransactionManager) -> None:
        super().__init__()
        self._manager = manager

    def take_producer(self, state: ProducerState) -> None:
        """InitProducerId was answered: every partition begins anew. No batch is in flight."""
        self.state = state
        self._partitions.clear()
        self._unresolved.clear()

    def raise_epoch_if_needed(self) -> None:
        """The coordinator does that."""

    def resolve(self) -> None:
        """Check the partitions of expired batches: once nothing is in flight there, their outcome is known."""
        self.fatal_error = self._manager.fatal_error
        for partition in sorted(self._unresolved):
            entry = self._entry(partition)
            if entry.in_flight:
                continue
            if not self._is_next(entry, entry.next_sequence):
                self._manager.lost_track()
            del self._unresolved[partition]

    def may_drain(self, batch: ProducerBatch) -> bool:
        """Whether the first batch of a partition's queue may be sent now."""
        return self._manager.may_send(batch.topic_partition) and super().may_drain(batch)

    def stamp(self, batch: ProducerBatch) -> None:
        """Give a batch that is sent for the first time its sequence. Called for every batch that is sent."""
        super().stamp(batch)
        batch.is_transactional = True

    def may_retry(self, batch: ProducerBatch, error: ErrorCode, log_start_offset: int) -> bool:
        """Whether a batch that failed may be sent again."""
        entry = self._entry(batch.topic_partition)
        if error == ErrorCode.UNKNOWN_PRODUCER_ID:
            if log_start_offset == NO_OFFSET or batch.sequence_was_reset:
                return True
            if entry.last_acked_offset < log_start_offset:
                # Retention took what this producer wrote before, and the broker's knowledge of it.
                self._begin_again(entry)
                return True
        elif error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.topic_partition not in self._unresolved:
            # One before it failed, and is sent again first; or the answer is about its sequence before.
            return batch.sequence_was_reset or not self._is_next(entry, batch.base_sequence)
        return is_retriable(error)

    def failed(
        self,
        batch: ProducerBatch,
        error: ErrorCode | None,
        *,
        may_have_been_taken: bool,
        exception: Exception | None = None,
    ) -> None:
        """A batch was given up. `may_have_been_taken`: it was sent, and its retries or its time ran out."""
        entry = self._entry(batch.topic_partition)
        self._forget(entry, batch)
        self._manager.batch_failed(exception or wrapped(RuntimeError("the batch was given up")))
        if error == ErrorCode.UNKNOWN_PRODUCER_ID:
            del self._partitions[batch.topic_partition]
            self._unresolved.pop(batch.topic_partition, None)
        elif not may_have_been_taken and batch.has_sequence:
            _close_up(entry, batch)


def _close_up(entry: PartitionSequences, batch: ProducerBatch) -> None:
    """The broker did not take the batch: those behind it move up by its records."""
    if (batch.producer_id, batch.producer_epoch) != entry.state:
        return
    entry.next_sequence = increment_sequence(entry.next_sequence, -batch.record_count)
    for later in entry.in_flight:
        if is_at_or_after(later.base_sequence, batch.base_sequence):
            sequence = increment_sequence(later.base_sequence, -batch.record_count)
            later.stamp(later.producer_id, later.producer_epoch, sequence)
            later.sequence_was_reset = True
