"""Plain values that calls about transactions take and return.

Role        Pure.
Source      org.apache.kafka.clients.admin: TransactionListing, TransactionDescription, TransactionState,
            ProducerState, AbortTransactionSpec.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from kafka_zk.protocol.types import TopicPartition


class TransactionState(Enum):
    """The states of a transaction, by their names on the wire."""

    ONGOING = "Ongoing"
    PREPARE_ABORT = "PrepareAbort"
    PREPARE_COMMIT = "PrepareCommit"
    COMPLETE_ABORT = "CompleteAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    EMPTY = "Empty"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def parse(cls, name: str) -> TransactionState:
        """UNKNOWN for an unknown name."""
        return next((state for state in cls if state.value == name), cls.UNKNOWN)


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """One transactional id of a list."""

    transactional_id: str
    producer_id: int
    state: TransactionState


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transactional id as its coordinator shows it.

    `start_time_ms` is None unless a transaction has begun. `partitions` are those that still wait for a marker.
    """

    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int | None
    partitions: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True)
class ProducerState:
    """A producer as a replica remembers it. None: no marker yet; no transaction open."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int | None
    transaction_start_offset: int | None


@dataclass(frozen=True, slots=True)
class AbortTransactionSpec:
    """The transaction that a partition's leader is told to abort."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int

    def __str__(self) -> str:
        """As Java's errors name it."""
        return (
            f"AbortTransactionSpec(topicPartition={self.partition}, producerId={self.producer_id}, "
            f"producerEpoch={self.producer_epoch}, coordinatorEpoch={self.coordinator_epoch})"
        )
