"""The state machine of a transactional producer: which call is allowed when, what follows it, what an error costs."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from kafka_zk.client.errors import CommitFailed, IllegalStateException, KafkaException, TimeoutException, java_name
from kafka_zk.client.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafka_zk.client.producer.errors import TransactionAborted
from kafka_zk.client.producer.idempotence import ProducerState
from kafka_zk.client.producer.transactions.states import TRANSITIONS, State, may_follow
from kafka_zk.client.producer.transactions.steps import (
    AddOffsets,
    AddPartitions,
    CommitOffsets,
    EndTransaction,
    InitProducerId,
    Step,
)
from kafka_zk.client.producer.transactions.transaction_manager import TransactionManager
from kafka_zk.client.producer.transactions.verdicts import VERDICTS, Verdict, verdict_of
from kafka_zk.protocol.errors import (
    BrokerError,
    ErrorCode,
    GroupAuthorizationFailed,
    InvalidProducerEpoch,
    InvalidTxnState,
    ProducerFenced,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
    is_retriable,
)
from kafka_zk.protocol.types import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOBODY = ConsumerGroupMetadata("g")
OFFSETS = {P0: OffsetAndMetadata(1), P1: OffsetAndMetadata(2)}
CALLS: dict[str, Callable[[TransactionManager], object]] = {
    "init": TransactionManager.init_transactions,
    "begin": TransactionManager.begin_transaction,
    "send": lambda manager: sent(manager, P0),
    "offsets": lambda manager: manager.send_offsets(OFFSETS, NOBODY),
    "share": lambda manager: manager.add_partitions([P0]),
    "commit": TransactionManager.commit,
    "abort": TransactionManager.abort,
}
ALLOWED = {
    ("init", State.UNINITIALIZED): State.INITIALIZING,
    ("begin", State.READY): State.IN_TRANSACTION,
    ("send", State.IN_TRANSACTION): State.IN_TRANSACTION,
    ("offsets", State.IN_TRANSACTION): State.IN_TRANSACTION,
    ("share", State.IN_TRANSACTION): State.IN_TRANSACTION,
    ("commit", State.IN_TRANSACTION): State.COMMITTING_TRANSACTION,
    ("abort", State.IN_TRANSACTION): State.ABORTING_TRANSACTION,
    ("abort", State.ABORTABLE_ERROR): State.ABORTING_TRANSACTION,
}


def sent(manager: TransactionManager, partition: TopicPartition) -> None:
    with manager.sending(*partition) as chosen:
        chosen(partition.partition)


def step_of(manager: TransactionManager) -> Step:
    step = manager.next_step(has_batches=False)
    assert step is not None
    return step


def given(state: State) -> TransactionManager:
    """A manager that came into `state` as a producer does; nobody waits for anything."""
    manager = TransactionManager("x")
    if state is State.UNINITIALIZED:
        return manager
    result = manager.init_transactions()
    if state is State.INITIALIZING:
        result.was_told = True
        return manager
    step = step_of(manager)
    assert isinstance(step, InitProducerId)
    manager.took_producer(step, ErrorCode.NONE, ProducerState(7, 0))
    result.wait(0)
    if state is State.READY:
        return manager
    manager.begin_transaction()
    if state is State.COMMITTING_TRANSACTION:
        manager.commit().was_told = True
    elif state is State.ABORTING_TRANSACTION:
        manager.abort().was_told = True
    elif state is State.ABORTABLE_ERROR:
        manager.send_failed(TimeoutException("late"))
    elif state is State.FATAL_ERROR:
        manager.send_failed(ProducerFenced())
    assert manager.state is state
    return manager


def started() -> TransactionManager:
    """P0 is in its transaction."""
    manager = given(State.IN_TRANSACTION)
    sent(manager, P0)
    step = step_of(manager)
    assert isinstance(step, AddPartitions)
    manager.took_partitions(step, {P0: ErrorCode.NONE})
    return manager


def end_of(manager: TransactionManager) -> EndTransaction:
    step = step_of(manager)
    assert isinstance(step, EndTransaction)
    return step


@pytest.mark.parametrize(("call", "state"), list(itertools.product(CALLS, State)))
def test_each_call_is_allowed_in_its_states_and_changes_nothing_in_others(call: str, state: State) -> None:
    manager = given(state)
    target = ALLOWED.get((call, state))
    if target is None:
        before = repr(manager)
        with pytest.raises((IllegalStateException, KafkaException, ProducerFenced)):
            CALLS[call](manager)
        assert repr(manager) == before
    else:
        CALLS[call](manager)
        assert manager.state is target


def test_every_state_has_its_successors_and_may_end_in_a_fatal_error() -> None:
    assert set(TRANSITIONS) == set(State)
    assert all(may_follow(state, State.FATAL_ERROR) for state in State)
    assert not any(may_follow(State.FATAL_ERROR, state) for state in State if state is not State.FATAL_ERROR)


@pytest.mark.parametrize("api", VERDICTS)
def test_every_code_has_a_verdict_and_a_retriable_one_never_costs_the_transaction(api: str) -> None:
    for code in ErrorCode:
        verdict = verdict_of(api, code)
        assert (verdict is Verdict.DONE) == (code == ErrorCode.NONE)
        if is_retriable(code):
            assert verdict in (Verdict.RETRY, Verdict.LOOK_UP), code


def test_a_batch_waits_until_its_partition_is_in_the_transaction() -> None:
    manager = given(State.IN_TRANSACTION)
    sent(manager, P0)
    step = step_of(manager)
    assert isinstance(step, AddPartitions)
    assert step.partitions == {P0}
    sent(manager, P1)
    assert not manager.may_send(P0)
    assert manager.took_partitions(step, {P0: ErrorCode.CONCURRENT_TRANSACTIONS}) is Verdict.RETRY
    assert manager.has_no_partition
    assert step_of(manager) is step
    manager.took_partitions(step, {P0: ErrorCode.NONE})
    assert manager.may_send(P0)
    assert not manager.may_send(P1)


def test_a_commit_follows_its_last_batch_and_the_sends_that_began_before_it() -> None:
    manager = started()
    with manager.sending("t", -1) as chosen:
        manager.commit()
        assert manager.is_completing
        assert manager.next_step(has_batches=False) is None
        assert chosen(1)
    added = step_of(manager)
    assert isinstance(added, AddPartitions)
    manager.took_partitions(added, {P1: ErrorCode.NONE})
    assert manager.next_step(has_batches=True) is None
    assert end_of(manager).committed


@pytest.mark.parametrize("ends", [TransactionManager.commit, TransactionManager.abort])
def test_a_transaction_without_records_asks_nobody(ends: Callable[[TransactionManager], object]) -> None:
    manager = given(State.IN_TRANSACTION)
    ends(manager)
    assert manager.next_step(has_batches=False) is None
    assert manager.state is State.READY


def test_a_transaction_of_records_that_others_send_is_committed_by_the_coordinator() -> None:
    manager = given(State.IN_TRANSACTION)
    shared = manager.add_partitions([P0, P1])
    step = step_of(manager)
    assert isinstance(step, AddPartitions) and step.partitions == {P0, P1}
    manager.took_partitions(step, dict.fromkeys((P0, P1), ErrorCode.NONE))
    assert shared.is_done
    manager.commit()
    assert isinstance(step_of(manager), EndTransaction)


def test_a_call_that_was_told_of_a_timeout_goes_on_when_it_is_made_again() -> None:
    manager = started()
    result = manager.commit()
    with pytest.raises(TimeoutException, match=r"^Timeout expired after 0ms while awaiting EndTxn\(true\)$"):
        result.wait(0)
    refused: list[Callable[[], object]] = [manager.abort, manager.begin_transaction]
    for call in refused:
        with pytest.raises(IllegalStateException, match="because the previous call to `commitTransaction` timed out"):
            call()
    assert manager.commit() is result
    manager.took_end(end_of(manager), ErrorCode.NONE)
    result.wait(0)
    manager.begin_transaction()


@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_producer_that_was_fenced_can_only_be_closed(code: ErrorCode) -> None:
    manager = started()
    result = manager.commit()
    manager.took_end(end_of(manager), code)
    with pytest.raises(ProducerFenced, match=r"^There is a newer producer"):
        result.wait(0)
    for call in (manager.begin_transaction, manager.abort):
        with pytest.raises(ProducerFenced, match=r"'x' and \(producerId=7, epoch=0\) has been fenced by another prod"):
            call()
    assert not manager.end_for_close()


def test_an_old_epoch_at_a_partition_leaves_it_to_the_coordinator_who_is_right() -> None:
    manager = started()
    manager.batch_failed(InvalidProducerEpoch())
    with pytest.raises(InvalidProducerEpoch, match=r"'x' and .* attempted to produce with an old epoch"):
        manager.commit()
    manager.abort()
    assert not end_of(manager).committed


def test_after_a_failed_record_the_producer_goes_on_under_a_new_epoch() -> None:
    manager = started()
    manager.batch_failed(TimeoutException("late"))
    with pytest.raises(KafkaException, match=r"^Cannot execute transactional method because we are in an error state$"):
        manager.commit()
    result = manager.abort()
    manager.took_end(end_of(manager), ErrorCode.NONE)
    assert not result.is_done
    step = step_of(manager)
    assert isinstance(step, InitProducerId)
    assert step.raises_epoch
    manager.took_producer(step, ErrorCode.NONE, ProducerState(7, 1))
    result.wait(0)
    manager.begin_transaction()
    assert not manager.may_send(P0)
    manager.commit()
    assert manager.next_step(has_batches=False) is None
    assert manager.state is State.READY


def test_a_batch_that_fails_while_the_transaction_is_committed_fails_the_commit() -> None:
    manager = started()
    result = manager.commit()
    manager.batch_failed(TimeoutException("late"))
    assert manager.next_step(has_batches=True) is None
    assert manager.next_step(has_batches=False) is None
    with pytest.raises(TimeoutException, match="late"):
        result.wait(0)
    assert manager.state is State.ABORTABLE_ERROR


def test_a_batch_that_fails_while_the_transaction_is_aborted_changes_nothing() -> None:
    manager = started()
    result = manager.abort()
    assert isinstance(manager.unsent_error, TransactionAborted)
    manager.batch_failed(TimeoutException("late"))
    manager.took_end(end_of(manager), ErrorCode.NONE)
    result.wait(0)
    assert manager.state is State.READY


def test_sequences_that_broke_during_an_abort_need_a_new_epoch_all_the_same() -> None:
    manager = started()
    result = manager.abort()
    manager.lost_track()
    manager.took_end(end_of(manager), ErrorCode.NONE)
    assert isinstance(step_of(manager), InitProducerId)
    assert not result.is_done


def test_an_old_coordinator_cannot_repair_sequences() -> None:
    manager = started()
    manager.can_raise_epoch = False
    manager.lost_track()
    assert manager.state is State.FATAL_ERROR
    assert str(manager.fatal_error).endswith("It isn't safe to continue.")


@pytest.mark.parametrize("can_raise", [True, False])
def test_a_producer_id_that_the_coordinator_forgot_needs_a_new_one(can_raise: bool) -> None:
    manager = started()
    manager.can_raise_epoch = can_raise
    sent(manager, P1)
    step = step_of(manager)
    assert isinstance(step, AddPartitions)
    manager.took_partitions(step, {P1: ErrorCode.INVALID_PRODUCER_ID_MAPPING})
    assert manager.state is (State.ABORTABLE_ERROR if can_raise else State.FATAL_ERROR)
    if can_raise:
        manager.abort()
        # There is nothing to abort: the coordinator is not asked.
        assert isinstance(step_of(manager), InitProducerId)


def test_an_abort_of_what_the_coordinator_forgot_gets_a_new_producer_id() -> None:
    manager = started()
    result = manager.abort()
    assert manager.took_end(end_of(manager), ErrorCode.INVALID_PRODUCER_ID_MAPPING) is Verdict.DONE
    step = step_of(manager)
    assert isinstance(step, InitProducerId)
    manager.took_producer(step, ErrorCode.NONE, ProducerState(8, 0))
    result.wait(0)


def test_an_abort_that_is_refused_leaves_nothing_to_be_done() -> None:
    manager = started()
    result = manager.abort()
    manager.took_end(end_of(manager), ErrorCode.TRANSACTION_ABORTABLE)
    assert manager.state is State.FATAL_ERROR
    assert result.is_done


def test_partitions_that_may_not_be_written_are_named_and_cost_the_transaction() -> None:
    manager = given(State.IN_TRANSACTION)
    sent(manager, P0)
    sent(manager, TopicPartition("secret", 0))
    step = step_of(manager)
    assert isinstance(step, AddPartitions)
    codes = {
        P0: ErrorCode.OPERATION_NOT_ATTEMPTED,
        TopicPartition("secret", 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
    manager.took_partitions(step, codes)
    assert manager.state is State.ABORTABLE_ERROR
    assert isinstance(manager.last_error, TopicAuthorizationFailed)
    assert str(manager.last_error) == "Not authorized to access topics: [secret]"
    manager.abort()
    assert manager.next_step(has_batches=False) is None, "no partition was added"


def test_a_partition_that_is_loading_decides_before_one_that_was_not_attempted() -> None:
    manager = given(State.IN_TRANSACTION)
    sent(manager, P0)
    sent(manager, P1)
    step = step_of(manager)
    assert isinstance(step, AddPartitions)
    codes = {P0: ErrorCode.OPERATION_NOT_ATTEMPTED, P1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert manager.took_partitions(step, codes) is Verdict.RETRY


def offsets_step(manager: TransactionManager) -> CommitOffsets:
    step = step_of(manager)
    assert isinstance(step, AddOffsets)
    manager.took_group(step, ErrorCode.NONE)
    step = step_of(manager)
    assert isinstance(step, CommitOffsets)
    return step


def test_only_offsets_that_failed_are_committed_again() -> None:
    manager = given(State.IN_TRANSACTION)
    result = manager.send_offsets(OFFSETS, NOBODY)
    first = offsets_step(manager)
    codes = {P0: ErrorCode.NONE, P1: ErrorCode.NOT_COORDINATOR}
    assert manager.took_offsets(first, codes) is Verdict.LOOK_UP
    second = step_of(manager)
    assert isinstance(second, CommitOffsets)
    assert second.offsets == {P1: OffsetAndMetadata(2)}
    manager.took_offsets(second, {P1: ErrorCode.NONE})
    result.wait(0)


@pytest.mark.parametrize(
    ("code", "error", "state"),
    [
        (ErrorCode.ILLEGAL_GENERATION, CommitFailed, State.ABORTABLE_ERROR),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupAuthorizationFailed, State.ABORTABLE_ERROR),
        (ErrorCode.FENCED_INSTANCE_ID, BrokerError, State.ABORTABLE_ERROR),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ProducerFenced, State.FATAL_ERROR),
        (ErrorCode.INVALID_TXN_STATE, KafkaException, State.FATAL_ERROR),
    ],
)
def test_offsets_that_may_not_be_committed(code: ErrorCode, error: type[Exception], state: State) -> None:
    manager = given(State.IN_TRANSACTION)
    result = manager.send_offsets(OFFSETS, NOBODY)
    manager.took_offsets(offsets_step(manager), {P0: code, P1: code})
    with pytest.raises(error):
        result.wait(0)
    assert manager.state is state


def test_a_member_that_left_its_group_is_told_why_its_offsets_are_refused() -> None:
    manager = given(State.IN_TRANSACTION)
    result = manager.send_offsets(OFFSETS, NOBODY)
    manager.took_offsets(offsets_step(manager), dict.fromkeys(OFFSETS, ErrorCode.UNKNOWN_MEMBER_ID))
    with pytest.raises(CommitFailed, match="due to consumer group metadata mismatch: The coordinator is not") as found:
        result.wait(0)
    assert java_name(found.value) == "org.apache.kafka.clients.consumer.CommitFailedException"


def test_who_was_denied_its_id_may_ask_again() -> None:
    manager = TransactionManager("x")
    result = manager.init_transactions()
    step = step_of(manager)
    assert isinstance(step, InitProducerId)
    manager.took_producer(step, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ProducerState(-1, -1))
    with pytest.raises(TransactionalIdAuthorizationFailed):
        result.wait(0)
    assert manager.init_transactions() is not result


def test_a_fatal_error_ends_every_wait() -> None:
    manager = given(State.IN_TRANSACTION)
    waits = [manager.send_offsets(OFFSETS, NOBODY), manager.send_offsets(OFFSETS, NOBODY), manager.commit()]
    first = step_of(manager)
    assert isinstance(first, AddOffsets)
    manager.took_group(first, ErrorCode.INVALID_TXN_STATE)
    for result in waits:
        with pytest.raises(InvalidTxnState):
            result.wait(0)


def test_a_close_ends_every_wait_and_those_to_come() -> None:
    manager = started()
    result = manager.commit()
    step = end_of(manager)
    manager.put_back(step)
    manager.close()
    with pytest.raises(KafkaException, match=r"^The producer closed forcefully$"):
        result.wait(0)
    late = given(State.IN_TRANSACTION)
    late.close()
    with pytest.raises(KafkaException, match=r"^The producer closed forcefully$"):
        late.commit().wait(0)


@pytest.mark.parametrize("state", State)
def test_a_close_leaves_no_transaction_open(state: State) -> None:
    manager = given(state)
    for _ in range(3):
        if not manager.end_for_close():
            break
        while manager.next_step(has_batches=False) is not None:
            pass
    assert not manager.end_for_close()
