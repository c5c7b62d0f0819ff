"""Sequences of a transactional producer: begun anew only by the coordinator, closed up behind a refused batch."""

from __future__ import annotations

import pytest

from kafka_zk.client.producer.idempotence import ProducerState
from kafka_zk.client.producer.transactions.sequences import TransactionalSequences
from kafka_zk.client.producer.transactions.states import State
from kafka_zk.protocol.errors import ErrorCode, InvalidRecord
from tests.unit.client.producer.test_idempotence import P0, batch_of, sent, stamps
from tests.unit.client.producer.test_transaction_manager import end_of, started


@pytest.fixture
def sequences() -> TransactionalSequences:
    """P0 is in its transaction."""
    made = TransactionalSequences(started())
    made.take_producer(ProducerState(7, 0))
    return made


def test_a_batch_says_that_it_belongs_to_a_transaction(sequences: TransactionalSequences) -> None:
    batch = batch_of(1)
    sent(sequences, batch)
    assert batch.is_transactional


def test_batches_behind_one_that_was_refused_move_up(sequences: TransactionalSequences) -> None:
    first, refused, behind, last = (batch_of(count) for count in (3, 2, 4, 1))
    sent(sequences, first, refused, behind, last)
    sequences.failed(refused, ErrorCode.INVALID_RECORD, may_have_been_taken=False, exception=InvalidRecord())
    assert stamps(first, behind, last) == [(7, 0, 0), (7, 0, 3), (7, 0, 7)]
    assert sequences.may_retry(behind, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert sequences._manager.state is State.ABORTABLE_ERROR


def test_a_batch_that_was_next_and_is_out_of_order_costs_the_transaction(sequences: TransactionalSequences) -> None:
    first, second = batch_of(3), batch_of(2)
    sent(sequences, first, second)
    assert sequences.may_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    sequences.succeeded(first, 0)
    assert not sequences.may_retry(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)


@pytest.mark.parametrize(("log_start_offset", "may_retry", "sequence"), [(-1, True, 3), (3, True, 0), (2, False, 3)])
def test_a_producer_that_retention_made_unknown_begins_anew(
    sequences: TransactionalSequences, log_start_offset: int, may_retry: bool, sequence: int
) -> None:
    first, second = batch_of(3), batch_of(2)
    sent(sequences, first, second)
    sequences.succeeded(first, 0)
    assert sequences.may_retry(second, ErrorCode.UNKNOWN_PRODUCER_ID, log_start_offset) is may_retry
    assert stamps(second) == [(7, 0, sequence)]


def test_an_outcome_that_is_never_known_costs_the_transaction_and_the_epoch(sequences: TransactionalSequences) -> None:
    late, behind = batch_of(3), batch_of(2)
    sent(sequences, late)
    sequences.expired(late)
    sequences.failed(late, None, may_have_been_taken=True, exception=InvalidRecord())
    assert not sequences.may_drain(behind)
    sequences.resolve()
    manager = sequences._manager
    assert str(manager.last_error).endswith("It is safe to abort the transaction and continue.")
    result = manager.abort()
    manager.took_end(end_of(manager), ErrorCode.NONE)
    assert not result.is_done, "the epoch comes first"
    sequences.take_producer(ProducerState(7, 1))
    assert not sequences.may_drain(batch_of(1, P0)), "the partition is in no transaction"
