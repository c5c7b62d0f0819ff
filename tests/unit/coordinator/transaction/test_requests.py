"""What each request of a producer leads to, in each state of its transaction."""

from __future__ import annotations

import pytest

from kafka_zk.coordinator.transaction.decisions.requests import (
    Need,
    ProducerIdAndEpoch,
    add_partitions,
    end_transaction,
    finish_transaction,
    init_producer_id,
    is_expired,
    is_timed_out,
    verify_partitions,
)
from kafka_zk.coordinator.transaction.decisions.states import AT_REST, TransactionState
from kafka_zk.coordinator.transaction.decisions.transaction import NO_EPOCH, Change, Transaction
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition

EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
COMPLETE_COMMIT, COMPLETE_ABORT = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
STORED = (EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)

NOW_MS, TIMEOUT_MS = 10_000, 60_000
ONE, TWO = TopicPartition("t", 1), TopicPartition("t", 2)
ME = ProducerIdAndEpoch(7, 3)
OLDER, NEWER, SOMEBODY = ME._replace(epoch=2), ME._replace(epoch=4), ME._replace(producer_id=8)
BUSY, FENCED, INVALID = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE
OK, UNKNOWN = ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_ID_MAPPING


def transaction(state: TransactionState, epoch: int = ME.epoch) -> Transaction:
    """Of ME, with one partition while it is under way."""
    made = Transaction("id", ME.producer_id, TIMEOUT_MS, 5_000)
    made.producer_epoch = epoch
    made.state = state
    made.started_ms = -1 if state is EMPTY else 6_000
    made.partitions = frozenset() if state in AT_REST else frozenset((ONE,))
    return made


def begin(
    of: Transaction, expected: ProducerIdAndEpoch | None = None, fresh: int | None = None
) -> Change | ErrorCode | Need:
    return init_producer_id(of, timeout_ms=TIMEOUT_MS, expected=expected, now_ms=NOW_MS, fresh_producer_id=fresh)


def epochs(change: object) -> tuple[int, int, int, int]:
    """Of a change: producer id and epoch, and those before."""
    assert isinstance(change, Change), change
    return change.producer_id, change.producer_epoch, change.last_producer_id, change.last_producer_epoch


# --- InitProducerId ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", sorted(AT_REST))
def test_a_producer_that_begins_gets_the_next_epoch(state: TransactionState) -> None:
    change = begin(transaction(state))
    assert epochs(change) == (7, 4, -1, NO_EPOCH)
    assert isinstance(change, Change) and change.state is EMPTY and change.started_ms == -1 and not change.partitions


def test_memory_keeps_when_the_last_transaction_began_until_the_next_one() -> None:
    of = transaction(COMPLETE_COMMIT)
    change = begin(of)
    assert isinstance(change, Change)
    of.complete(change)
    assert (of.state, of.started_ms) == (EMPTY, 6_000)


def test_the_first_producer_of_an_id_gets_epoch_0() -> None:
    new = Transaction("id", 7, TIMEOUT_MS, NOW_MS)
    assert epochs(begin(new)) == (7, 0, -1, NO_EPOCH)
    # Whoever it says it was: the coordinator has forgotten it.
    assert epochs(begin(Transaction("id", 7, TIMEOUT_MS, NOW_MS), ProducerIdAndEpoch(99, 5))) == (7, 0, -1, NO_EPOCH)


def test_a_producer_that_says_who_it_was_gets_the_next_epoch_once() -> None:
    """Its answer was lost: it asks again with the old epoch, and is told the same. (KIP-360)"""
    of = transaction(COMPLETE_ABORT)
    change = begin(of, ME)
    assert epochs(change) == (7, 4, -1, 3)
    assert isinstance(change, Change)
    of.complete(change)
    again = begin(of, ME)
    assert epochs(again) == (7, 4, -1, 3)


@pytest.mark.parametrize("who", [OLDER, NEWER, SOMEBODY])
def test_a_producer_that_somebody_replaced_is_fenced(who: ProducerIdAndEpoch) -> None:
    assert begin(transaction(EMPTY), who) is FENCED


@pytest.mark.parametrize("state", [PREPARE_COMMIT, PREPARE_ABORT])
def test_nobody_begins_while_markers_are_written(state: TransactionState) -> None:
    assert begin(transaction(state)) is BUSY


def test_what_an_older_producer_left_open_is_fenced_first() -> None:
    of = transaction(ONGOING)
    change = begin(of)
    assert epochs(change) == (7, 4, -1, NO_EPOCH)
    assert of.changing_to is TransactionState.PREPARE_EPOCH_FENCE and of.producer_epoch == 3
    abort = end_transaction(of, NEWER, is_commit=False, is_from_client=False, now_ms=NOW_MS)
    assert epochs(abort) == (7, 4, -1, NO_EPOCH)
    assert isinstance(abort, Change) and abort.state is PREPARE_ABORT and abort.partitions == {ONE}


def test_an_epoch_that_was_raised_and_not_stored_is_not_raised_again() -> None:
    """(KAFKA-9666)"""
    of = transaction(ONGOING)
    begin(of)
    end_transaction(of, NEWER, is_commit=False, is_from_client=False, now_ms=NOW_MS)
    of.give_up()
    of.failed_to_fence = True
    assert epochs(begin(of)) == (7, 4, -1, NO_EPOCH)


def test_a_producer_without_epochs_left_gets_another_id() -> None:
    """(KAFKA-5283)"""
    of = transaction(COMPLETE_COMMIT, epoch=32766)
    assert begin(of) is Need.PRODUCER_ID
    assert epochs(begin(of, fresh=90)) == (90, 0, 7, NO_EPOCH)


def test_a_producer_that_missed_its_new_id_is_told_again() -> None:
    of = transaction(COMPLETE_COMMIT, epoch=32766)
    last = ProducerIdAndEpoch(7, 32766)
    change = begin(of, last, fresh=90)
    assert epochs(change) == (90, 0, 7, 32766)
    assert isinstance(change, Change)
    of.complete(change)
    assert epochs(begin(of, last)) == (90, 0, 7, 32766)
    of.give_up()
    assert begin(of, ProducerIdAndEpoch(7, 32765)) is FENCED


def test_the_last_epoch_of_an_id_can_still_be_fenced() -> None:
    of = transaction(ONGOING, epoch=32766)
    assert epochs(begin(of)) == (7, 32767, -1, NO_EPOCH)


def test_the_last_epoch_of_an_id_is_fenced_once_more_if_that_could_not_be_stored() -> None:
    of = transaction(ONGOING, epoch=32767)
    of.failed_to_fence = True
    assert epochs(begin(of)) == (7, 32767, -1, NO_EPOCH)


# --- partitions ----------------------------------------------------------------------------------------------------


def add(of: Transaction, producer: ProducerIdAndEpoch = ME, *partitions: TopicPartition) -> Change | ErrorCode:
    return add_partitions(of, producer, frozenset(partitions or (TWO,)), now_ms=NOW_MS)


def test_nothing_begins_with_an_epoch_that_leaves_none_to_fence_it() -> None:
    assert add(transaction(COMPLETE_ABORT, epoch=32767), ProducerIdAndEpoch(7, 32767)) is FENCED
    assert isinstance(add(transaction(COMPLETE_ABORT, epoch=32766), ProducerIdAndEpoch(7, 32766)), Change)


@pytest.mark.parametrize("state", sorted(AT_REST))
def test_the_first_partition_begins_a_transaction(state: TransactionState) -> None:
    change = add(transaction(state))
    assert isinstance(change, Change)
    assert (change.state, change.partitions, change.started_ms) == (ONGOING, {TWO}, NOW_MS)


def test_more_partitions_leave_its_begin_as_it_was() -> None:
    change = add(transaction(ONGOING))
    assert isinstance(change, Change)
    assert (change.state, change.partitions, change.started_ms) == (ONGOING, {ONE, TWO}, 6_000)


def test_a_partition_that_is_there_already_needs_no_record() -> None:
    assert add(transaction(ONGOING), ME, ONE) is OK


@pytest.mark.parametrize("state", STORED)
@pytest.mark.parametrize(("who", "error"), [(OLDER, FENCED), (NEWER, FENCED), (SOMEBODY, UNKNOWN)])
def test_only_the_current_producer_is_served(
    state: TransactionState, who: ProducerIdAndEpoch, error: ErrorCode
) -> None:
    of = transaction(state)
    assert add(of, who) is error
    assert verify_partitions(of, who, [ONE]) == {ONE: error}
    assert end_transaction(of, who, is_commit=True, is_from_client=True, now_ms=NOW_MS) is error
    assert of.changing_to is None and of.state is state


@pytest.mark.parametrize("state", [PREPARE_COMMIT, PREPARE_ABORT])
def test_nothing_is_added_to_what_is_ending(state: TransactionState) -> None:
    assert add(transaction(state)) is BUSY
    assert verify_partitions(transaction(state), ME, [ONE, TWO]) == {ONE: BUSY, TWO: BUSY}


def test_only_partitions_of_the_transaction_are_verified() -> None:
    expected = {ONE: OK, TWO: ErrorCode.TRANSACTION_ABORTABLE}
    assert verify_partitions(transaction(ONGOING), ME, [ONE, TWO]) == expected


# --- the end -------------------------------------------------------------------------------------------------------

ENDS = {
    EMPTY: (INVALID, INVALID),
    ONGOING: (PREPARE_COMMIT, PREPARE_ABORT),
    PREPARE_COMMIT: (BUSY, INVALID),
    PREPARE_ABORT: (INVALID, BUSY),
    COMPLETE_COMMIT: (OK, INVALID),
    COMPLETE_ABORT: (INVALID, OK),
}


@pytest.mark.parametrize("state", STORED)
@pytest.mark.parametrize("is_commit", [True, False])
def test_an_end_is_decided_once(state: TransactionState, is_commit: bool) -> None:
    of = transaction(state)
    found = end_transaction(of, ME, is_commit=is_commit, is_from_client=True, now_ms=NOW_MS)
    wanted = ENDS[state][0 if is_commit else 1]
    if isinstance(wanted, ErrorCode):
        assert found is wanted and of.changing_to is None
    else:
        assert isinstance(found, Change) and found.state is wanted
        assert (found.partitions, found.started_ms) == (of.partitions, of.started_ms)


def test_an_older_epoch_cannot_end_what_the_coordinator_fenced() -> None:
    """(KAFKA-6119, KAFKA-9600)"""
    of = transaction(ONGOING)
    of.fence()
    assert end_transaction(of, OLDER, is_commit=True, is_from_client=True, now_ms=NOW_MS) is FENCED
    assert end_transaction(of, ME, is_commit=True, is_from_client=True, now_ms=NOW_MS) is BUSY
    assert of.producer_epoch == ME.epoch


@pytest.mark.parametrize("decision", [add, begin])
@pytest.mark.parametrize("state", [EMPTY, ONGOING, COMPLETE_COMMIT])
def test_a_change_that_is_being_stored_is_not_overtaken(state: TransactionState, decision: object) -> None:
    of = transaction(state)
    add(of, ME, TWO)
    assert decision(of) is BUSY  # type: ignore[operator]
    assert end_transaction(of, ME, is_commit=True, is_from_client=True, now_ms=NOW_MS) is BUSY


@pytest.mark.parametrize(("state", "following"), [(PREPARE_COMMIT, COMPLETE_COMMIT), (PREPARE_ABORT, COMPLETE_ABORT)])
def test_the_markers_lead_to_the_end(state: TransactionState, following: TransactionState) -> None:
    of = transaction(state)
    is_commit = state is PREPARE_COMMIT
    assert finish_transaction(of, ME, is_commit=not is_commit, now_ms=NOW_MS) is INVALID
    assert finish_transaction(of, OLDER, is_commit=is_commit, now_ms=NOW_MS) is FENCED
    change = finish_transaction(of, ME, is_commit=is_commit, now_ms=NOW_MS)
    assert isinstance(change, Change)
    assert (change.state, change.partitions, change.started_ms) == (following, frozenset(), 6_000)
    assert finish_transaction(of, ME, is_commit=is_commit, now_ms=NOW_MS) is BUSY


# --- time ----------------------------------------------------------------------------------------------------------


def test_only_an_open_transaction_times_out() -> None:
    late_ms = 6_000 + TIMEOUT_MS
    assert [state for state in STORED if is_timed_out(transaction(state), late_ms + 1)] == [ONGOING]
    assert not is_timed_out(transaction(ONGOING), late_ms)
    changing = transaction(ONGOING)
    add(changing)
    assert not is_timed_out(changing, late_ms + 1)


def test_only_an_id_at_rest_expires() -> None:
    assert {state for state in STORED if is_expired(transaction(state), 6_000, 1_000)} == AT_REST
    assert not is_expired(transaction(EMPTY), 5_999, 1_000)


@pytest.mark.parametrize("state", [ONGOING, PREPARE_COMMIT])
def test_an_id_that_is_in_use_cannot_be_removed(state: TransactionState) -> None:
    with pytest.raises(AssertionError):
        transaction(state).expire()


def test_a_change_that_was_overtaken_is_not_made() -> None:
    of = transaction(ONGOING)
    change = add(of)
    assert isinstance(change, Change)
    of.producer_epoch = 9
    with pytest.raises(AssertionError):
        of.complete(change)
