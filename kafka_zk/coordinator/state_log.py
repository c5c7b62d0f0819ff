"""A coordinator's log: appends records to a partition of __consumer_offsets or __transaction_state, reads its batches.

Role        Acts, through the ReplicaManager. Knows nothing about groups and transactions.
Invariants  `done` is called exactly once for each append, without switching: at once, or when the batch is committed.
            Batches of one partition are appended in the order of the calls: a large compressed batch is
            checked in a thread, and later ones wait for it. They do not wait for replicas. A batch requested in
            one leadership is not appended in another; a new epoch of the same leader does not count.
            Batches carry a producer id in transactions only; those of offsets have the base sequence 0 and those of
            groups none, because Apache's have.
Source      Kafka 3.9 GroupMetadataManager: appendForGroup, storeOffsets, cleanupGroupMetadata;
            TransactionStateManager: appendTransactionToLog, removeExpiredTransactionalIds.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_zk.clock import Clock
from kafka_zk.coordinator.stored_batches import stored_batches
from kafka_zk.log.turn import Turn
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, NotLeaderOrFollower, UnknownServerError
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import NO_SEQUENCE, Batch
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.produced import Origin
from kafka_zk.record.types import Record
from kafka_zk.replication.serving.append import AppendFailure

if TYPE_CHECKING:
    from kafka_zk.log.state.verification import VerificationGuard
    from kafka_zk.log.unified_log import AppendInfo
    from kafka_zk.replication.manager import ReplicaManager

NO_ACKS = 0

KeyAndValue = tuple[bytes, bytes | None]
Done = Callable[[ErrorCode, int], None]
"""Called with the code of the append and the base offset of the batch (-1 when it failed)."""


class Producer(NamedTuple):
    """The producer whose transaction a batch belongs to."""

    producer_id: int
    producer_epoch: int


NO_PRODUCER = Producer(-1, -1)
"""For a batch outside transactions."""


class StateLog:
    """Appends to `topic` with `required_acks`, waiting `timeout_ms` at most for the replicas. `log` gets its errors."""

    def __init__(
        self,
        topic: str,
        replica_manager: ReplicaManager,
        clock: Clock,
        *,
        required_acks: int,
        timeout_ms: int,
        codec: Codec,
        log: logging.Logger,
    ) -> None:
        self._topic = topic
        self._log = log
        self._replica_manager = replica_manager
        self._clock = clock
        self._required_acks = required_acks
        self._timeout_ms = timeout_ms
        self._codec = codec
        self._turns: dict[int, Turn] = {}
        self._partitions: dict[int, TopicPartition] = {}

    def append(
        self,
        partition: int,
        records: Sequence[KeyAndValue],
        done: Done,
        *,
        base_sequence: int = NO_SEQUENCE,
        producer: Producer = NO_PRODUCER,
        guard: VerificationGuard | None = None,
        timeout_ms: int | None = None,
    ) -> None:
        """Blocks. Append one batch, as part of the transaction of `producer`; `done` gets the result.

        `guard`: that of the transaction, if this begins it here. It waits `timeout_ms` for the replicas, if given.
        """
        result = self._append(partition, records, self._required_acks, base_sequence, producer, guard, timeout_ms)
        if isinstance(result, Pending):
            result.on_complete(lambda settled: _tell(done, settled.value[0]))
        else:
            _tell(done, result[0])

    def append_tombstones(self, partition: int, keys: Sequence[bytes]) -> ErrorCode:
        """Blocks. Append a batch of tombstones; returns the code of the append. Does not wait for its replication."""
        result = self._append(partition, [(key, None) for key in keys], NO_ACKS)
        assert not isinstance(result, Pending), "an append without acks has nothing to wait for"
        if isinstance(result[0], AppendFailure):
            self._log.error(
                "Failed to append %d tombstones to %s-%d: %s",
                len(keys),
                self._topic,
                partition,
                result[0].error,
            )
            return result[0].error.code
        return ErrorCode.NONE

    def _append(
        self,
        partition: int,
        records: Sequence[KeyAndValue],
        acks: int,
        base_sequence: int = NO_SEQUENCE,
        producer: Producer = NO_PRODUCER,
        guard: VerificationGuard | None = None,
        timeout_ms: int | None = None,
    ) -> list[AppendInfo | AppendFailure] | Pending[list[AppendInfo | AppendFailure]]:
        topic_partition = self._partitions.get(partition)
        if topic_partition is None:
            topic_partition = self._partitions[partition] = TopicPartition(self._topic, partition)
        leadership = self._replica_manager.leadership_of(topic_partition)
        if leadership is None:
            return [AppendFailure(NotLeaderOrFollower())]
        if producer is not NO_PRODUCER and (producer.producer_id < 0 or producer.producer_epoch < 0):
            # No batch can say so; Kafka fails to build it.
            return [AppendFailure(UnknownServerError())]
        try:
            now_ms = self._clock.wall_ms()
            batch = build_batch(
                [Record(offset, now_ms, key, value) for offset, (key, value) in enumerate(records)],
                codec=self._codec,
                base_sequence=base_sequence,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                transactional=producer is not NO_PRODUCER,
            )
            turn = self._turns.get(partition)
            if turn is None:
                turn = self._turns[partition] = Turn()
            has_to_wait = turn.is_taken
            with turn:
                if has_to_wait and self._replica_manager.leadership_of(topic_partition) != leadership:
                    # The state was reloaded since: decisions on the old one no longer apply.
                    return [AppendFailure(NotLeaderOrFollower())]
                return self._replica_manager.append_records(
                    [(self._topic, partition, memoryview(batch))],
                    required_acks=acks,
                    timeout_ms=self._timeout_ms if timeout_ms is None else timeout_ms,
                    internal_topics_allowed=True,
                    # All its batches have the sequence 0: a client's rules would treat them as duplicates.
                    origin=Origin.COORDINATOR,
                    guards=None if guard is None else {(self._topic, partition): guard},
                )
        except Exception:
            # A bug of ours; without a result the state would wait for this record for ever.
            self._log.exception("Error while appending %d records to partition %d", len(records), partition)
            return [AppendFailure(UnknownServerError())]

    def may_be_replaced(self, partition: int) -> bool:
        """Whether another broker may coordinate the partition by now, without this one's knowledge."""
        return self._replica_manager.may_be_replaced(TopicPartition(self._topic, partition))

    def transaction_start(self, partition: int, producer_id: int) -> int | None:
        """Where the transaction begins that a producer has open in the partition; None if it has none."""
        return self._replica_manager.transaction_start(TopicPartition(self._topic, partition), producer_id)

    def await_committed(self, partition: int, offset: int, *, timeout_ms: int) -> Pending[ErrorCode]:
        """NONE once all below `offset` is committed. See replication.serving.delayed_commit. Does not switch."""
        return self._replica_manager.await_committed(
            TopicPartition(self._topic, partition), offset, timeout_ms=timeout_ms
        )

    def read(self, partition: int, is_wanted: Callable[[], bool]) -> Iterator[Batch]:
        """Blocks between batches. All batches of the local log in order, while `is_wanted`. Raises BrokerError."""
        return stored_batches(self._replica_manager, TopicPartition(self._topic, partition), is_wanted)


def _tell(done: Done, result: AppendInfo | AppendFailure) -> None:
    if isinstance(result, AppendFailure):
        done(result.error.code, -1)
    else:
        done(ErrorCode.NONE, result.first_offset)
