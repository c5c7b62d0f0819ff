"""What the requests of a transactional producer lead to.

Role        Pure: a transaction and a request in; a change to store, or the answer at once.
Invariants  A transaction that is being changed is not touched: the client tries again (CONCURRENT_TRANSACTIONS).
            A client's epoch must be the current one to end its transaction; only the coordinator itself may raise it.
Source      TransactionCoordinator.scala in Kafka 3.9 (KIP-98, KIP-360, KIP-890 part 1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum, auto
from typing import NamedTuple, TypeVar

from kafka_zk.coordinator.transaction.decisions.states import (
    AT_REST,
    ENDING,
    ON_END,
    TransactionState,
)
from kafka_zk.coordinator.transaction.decisions.transaction import LAST_EPOCH, NO_EPOCH, Change, Transaction
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition

Partition = TypeVar("Partition", bound=tuple[str, int])
"""A TopicPartition, or a pair that equals one."""


class ProducerIdAndEpoch(NamedTuple):
    """Whom a producer takes itself for."""

    producer_id: int
    epoch: int


class Need(Enum):
    """What a decision cannot go on without."""

    PRODUCER_ID = auto()
    """A fresh one: the epochs of the old one are used up. Decide again with it."""


def init_producer_id(
    transaction: Transaction,
    *,
    timeout_ms: int,
    expected: ProducerIdAndEpoch | None,
    now_ms: int,
    fresh_producer_id: int | None = None,
) -> Change | ErrorCode | Need:
    """A producer begins or begins again; `expected` is what it was before (KIP-360).

    A change to PREPARE_EPOCH_FENCE is not stored: the open transaction must be aborted with its epoch first.
    """
    if transaction.changing_to is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if expected is not None and not _is_known(transaction, expected):
        return ErrorCode.PRODUCER_FENCED
    if transaction.state in ENDING:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if transaction.state is TransactionState.ONGOING:
        return transaction.fence()
    assert transaction.state in AT_REST, f"{transaction} is no longer served"
    if transaction.is_epoch_exhausted and (expected is None or expected.epoch == transaction.producer_epoch):
        if fresh_producer_id is None:
            return Need.PRODUCER_ID
        return transaction.rotate(fresh_producer_id, timeout_ms, now_ms, remembers_epoch=expected is not None)
    epochs = _next_epochs(transaction, expected)
    if epochs is None:
        return ErrorCode.PRODUCER_FENCED
    return transaction.renew(*epochs, timeout_ms, now_ms)


def _is_known(transaction: Transaction, expected: ProducerIdAndEpoch) -> bool:
    """A new transaction knows nobody yet; a producer whose epochs ran out may have missed its new id."""
    return (
        transaction.producer_epoch == NO_EPOCH
        or expected.producer_id == transaction.producer_id
        or (expected.producer_id == transaction.last_producer_id and expected.epoch >= LAST_EPOCH)
    )


def _next_epochs(transaction: Transaction, expected: ProducerIdAndEpoch | None) -> tuple[int, int] | None:
    """The next epoch and the one before it; None for a producer that somebody has fenced."""
    current = transaction.producer_epoch
    if expected is None:
        return current + 1, NO_EPOCH
    if current == NO_EPOCH or expected.epoch == current:
        return current + 1, current
    if expected.epoch == transaction.last_producer_epoch:
        # It asks again for what it was given: the answer was lost.
        return current, transaction.last_producer_epoch
    return None


def add_partitions(
    transaction: Transaction, producer: ProducerIdAndEpoch, partitions: frozenset[TopicPartition], *, now_ms: int
) -> Change | ErrorCode:
    """NONE if the transaction has them all already."""
    error = _check_producer(transaction, producer)
    if error is not ErrorCode.NONE:
        return error
    if producer.epoch > LAST_EPOCH:
        # It fenced a producer and was told to none; what began with it could not be fenced when it takes too long.
        return ErrorCode.PRODUCER_FENCED
    if transaction.changing_to is not None or transaction.state in ENDING:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
        return ErrorCode.NONE
    return transaction.add(partitions, now_ms)


def verify_partitions(
    transaction: Transaction, producer: ProducerIdAndEpoch, partitions: Collection[Partition]
) -> Mapping[Partition, ErrorCode]:
    """Whether each partition belongs to the transaction, for a broker that is about to append to it."""
    error = _check_producer(transaction, producer)
    if error is ErrorCode.NONE and transaction.state in ENDING:
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    if error is not ErrorCode.NONE:
        return dict.fromkeys(partitions, error)
    return {
        each: ErrorCode.NONE if each in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for each in partitions
    }


def _check_producer(transaction: Transaction, producer: ProducerIdAndEpoch) -> ErrorCode:
    if producer.producer_id != transaction.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer.epoch != transaction.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.NONE


def end_transaction(
    transaction: Transaction, producer: ProducerIdAndEpoch, *, is_commit: bool, is_from_client: bool, now_ms: int
) -> Change | ErrorCode:
    """Decide a transaction. The coordinator itself aborts with the epoch of a fence; see `Transaction.fence`."""
    if producer.producer_id != transaction.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer.epoch < transaction.producer_epoch or (is_from_client and producer.epoch > transaction.producer_epoch):
        return ErrorCode.PRODUCER_FENCED
    is_fence = transaction.changing_to is TransactionState.PREPARE_EPOCH_FENCE
    if transaction.changing_to is not None and (not is_fence or is_from_client):
        return ErrorCode.CONCURRENT_TRANSACTIONS
    following = ON_END[transaction.state][is_commit]
    if isinstance(following, ErrorCode):
        return following
    if is_fence:
        transaction.take_fence(producer.epoch)
    return transaction.end(following, now_ms)


def finish_transaction(
    transaction: Transaction, producer: ProducerIdAndEpoch, *, is_commit: bool, now_ms: int
) -> Change | ErrorCode:
    """The decision is stored: what will be stored once its markers are written."""
    error = _check_producer(transaction, producer)
    if error is not ErrorCode.NONE:
        return error
    if transaction.changing_to is not None:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    wanted = TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT
    if transaction.state is not wanted:
        return ErrorCode.INVALID_TXN_STATE
    return transaction.finish(now_ms)


def is_timed_out(transaction: Transaction, now_ms: int) -> bool:
    """Whether the coordinator must abort it."""
    return (
        transaction.changing_to is None
        and transaction.state is TransactionState.ONGOING
        and transaction.started_ms + transaction.timeout_ms < now_ms
    )


def is_expired(transaction: Transaction, now_ms: int, expiration_ms: int) -> bool:
    """Whether nobody used the id for so long that it may be forgotten."""
    return (
        transaction.changing_to is None
        and transaction.state in AT_REST
        and transaction.updated_ms <= now_ms - expiration_ms
    )
