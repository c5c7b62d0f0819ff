"""Produce in transactions: who may, what is asked of the coordinator first, and what producers are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.network.errors import CloseConnection, NetworkError
from kafka_zk.protocol.errors import (
    BrokerNotAvailable,
    ErrorCode,
    InvalidProducerIdMapping,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
)
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from kafka_zk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin

from .broker import Broker, answered, records

ID = "tx"
PRODUCER = 5
CODES = (ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """It leads a partition, and another broker coordinates transactions."""
    broker = Broker(tmp_path, {"transaction.partition.verification.enable": "true"})
    broker.update_metadata({"t": {0: 1, 1: 1}, "__transaction_state": {0: 2}})
    broker.lead("t", 0)
    broker.lead("t", 1)
    yield broker
    broker.close()


def batch(*, sequence: int = 0, epoch: int = 0, producer_id: int = PRODUCER, transactional: bool = True) -> memoryview:
    return records(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=transactional)


def request(*batches: memoryview, acks: int = 1, transactional_id: str | None = ID) -> ProduceRequest:
    """To the partitions 0, 1, ... of the topic."""
    data = [PartitionProduceData(index=index, records=each) for index, each in enumerate(batches)]
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=1_000,
        topic_data=[TopicProduceData(name="t", partition_data=data)],
    )


def start(broker: Broker, sent: ProduceRequest, version: int = 9) -> gevent.Greenlet[..., Any]:
    """A produce that has run until it waits for the coordinator."""
    produced = gevent.spawn(broker.call, sent, version)
    gevent.sleep(0)
    return produced


def say(broker: Broker, *codes: ErrorCode, at: int = -1) -> None:
    """The coordinator answers a request with these codes for the partitions that it names."""
    _, asked, pending = broker.coordinator.asked[at]
    left = list(codes)
    results = [
        AddPartitionsToTxnResult(
            transactional_id=transaction.transactional_id,
            topic_results=[
                AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=[
                        AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=left.pop(0))
                        for index in topic.partitions
                    ],
                )
                for topic in transaction.topics
            ],
        )
        for transaction in asked.transactions
    ]
    pending.complete(AddPartitionsToTxnResponse(results_by_transaction=results))


def begin(broker: Broker, sequence: int = 0, epoch: int = 0) -> None:
    """A transaction is open in partition 0."""
    produced = start(broker, request(batch(sequence=sequence, epoch=epoch)))
    say(broker, ErrorCode.NONE)
    assert lines(produced.get(timeout=10)) == [ErrorCode.NONE]


def lines(response: Any) -> list[ErrorCode]:
    return [ErrorCode(line.error_code) for topic in response.responses for line in topic.partition_responses]


def end_offset(broker: Broker, index: int = 0) -> int:
    return broker.partition("t", index).leader_log().log_end_offset


def abort(broker: Broker, *, epoch: int = 0, coordinator_epoch: int = 0) -> None:
    """The coordinator's marker arrives in partition 0."""
    marker = build_marker(
        EndTransactionMarker(ControlType.ABORT, coordinator_epoch),
        producer_id=PRODUCER,
        producer_epoch=epoch,
        timestamp_ms=broker.clock.wall_ms(),
    )
    broker.manager.append_records(
        [("t", 0, memoryview(marker))], required_acks=-1, timeout_ms=1, origin=Origin.COORDINATOR
    )


# --- who is asked -----------------------------------------------------------------------------------------------------

STATE_TOPIC = "__transaction_state"


def name_coordinator(broker: Broker, broker_id: int, epoch: int) -> None:
    """As the controller tells it."""
    broker.update_metadata({STATE_TOPIC: {0: broker_id}}, leader_epoch=epoch)


def test_a_coordinator_that_was_replaced_is_not_asked(broker: Broker) -> None:
    """Broker 2 coordinated in epoch 4. Who replaced it in epoch 5 has ended the transaction; a late batch of that
    comes before the news, and 2 still has it open."""
    name_coordinator(broker, 2, epoch=4)
    begin(broker)
    abort(broker, epoch=1, coordinator_epoch=5)
    late = request(batch(epoch=1))
    count = len(broker.coordinator.asked)
    assert lines(start(broker, late).get(timeout=10)) == [ErrorCode.NOT_ENOUGH_REPLICAS], "its producer tries again"
    assert len(broker.coordinator.asked) == count
    name_coordinator(broker, 3, epoch=5)
    produced = start(broker, late)
    assert broker.coordinator.asked[-1][0] == 3
    say(broker, ErrorCode.TRANSACTION_ABORTABLE)
    assert lines(produced.get(timeout=10)) == [ErrorCode.INVALID_TXN_STATE]


def test_a_newer_coordinator_than_the_last_markers_is_asked(broker: Broker) -> None:
    name_coordinator(broker, 2, epoch=4)
    begin(broker)
    abort(broker, coordinator_epoch=4)
    for coordinator, epoch in ((2, 4), (3, 5)):
        name_coordinator(broker, coordinator, epoch)
        produced = start(broker, request(batch(sequence=1)))
        assert broker.coordinator.asked[-1][0] == coordinator
        say(broker, ErrorCode.CONCURRENT_TRANSACTIONS)
        produced.get(timeout=10)


def test_the_newest_marker_of_all_partitions_counts(broker: Broker) -> None:
    """What the producer began in partition 0 was ended by another coordinator than the metadata has; 1 is new to it."""
    name_coordinator(broker, 2, epoch=4)
    begin(broker)
    abort(broker, coordinator_epoch=5)
    count = len(broker.coordinator.asked)
    answer = start(broker, request(batch(sequence=1), batch())).get(timeout=10)
    assert lines(answer) == [ErrorCode.NOT_ENOUGH_REPLICAS] * 2
    assert len(broker.coordinator.asked) == count


def test_the_markers_of_other_producers_do_not_count(broker: Broker) -> None:
    name_coordinator(broker, 2, epoch=4)
    begin(broker)
    abort(broker, coordinator_epoch=5)
    produced = start(broker, request(batch(producer_id=PRODUCER + 1), transactional_id="another"))
    say(broker, ErrorCode.NONE)
    assert lines(produced.get(timeout=10)) == [ErrorCode.NONE]


# --- who may ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [3, 9, 11])
def test_a_transactional_batch_of_nobody_fails_the_whole_request_with_53(broker: Broker, version: int) -> None:
    with pytest.raises(TransactionalIdAuthorizationFailed):
        broker.call(request(batch(transactional=False), batch(), transactional_id=None), version)
    with pytest.raises(TransactionalIdAuthorizationFailed):
        broker.call(request(memoryview(bytes(batch()) * 2), transactional_id=None), version)
    assert end_offset(broker) == 0


def test_who_may_not_use_the_id_is_refused_before_any_topic_is_looked_at(broker: Broker) -> None:
    asked: list[int] = []

    def may(_: Any, operation: int, resource_type: int, name: str, *__: Any) -> bool:
        asked.append(resource_type)
        return (operation, resource_type, name) != (Operation.WRITE, ResourceType.TRANSACTIONAL_ID, ID)

    broker.services.authorizer = SimpleNamespace(may=may)  # type: ignore[assignment]
    with pytest.raises(TransactionalIdAuthorizationFailed):
        broker.call(request(batch()), 9)
    assert asked == [ResourceType.TRANSACTIONAL_ID]


def test_an_id_without_transactional_batches_is_of_no_consequence(broker: Broker) -> None:
    broker.services.authorizer = SimpleNamespace(  # type: ignore[assignment]
        may=lambda _, operation, resource_type, *__: resource_type != ResourceType.TRANSACTIONAL_ID
    )
    assert lines(broker.call(request(batch(transactional=False)), 9)) == [ErrorCode.NONE]
    assert broker.coordinator.asked == []


def test_batches_of_two_producers_fail_the_whole_request_with_49(broker: Broker) -> None:
    with pytest.raises(InvalidProducerIdMapping, match="more than one producer ID"):
        broker.call(request(batch(), batch(producer_id=6)), 9)
    with pytest.raises(InvalidProducerIdMapping):
        broker.call(request(batch(), batch(epoch=1)), 9)
    assert (end_offset(broker), broker.coordinator.asked) == (0, [])


# --- what is asked ---------------------------------------------------------------------------------------------------


def test_rule_65_the_coordinator_is_asked_before_a_transaction_begins_in_a_partition(broker: Broker) -> None:
    produced = start(broker, request(batch(), batch()))
    assert end_offset(broker) == 0
    ((broker_id, asked, _),) = broker.coordinator.asked
    (transaction,) = asked.transactions
    assert broker_id == 2
    assert (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch) == (ID, PRODUCER, 0)
    assert transaction.verify_only
    assert [(topic.name, topic.partitions) for topic in transaction.topics] == [("t", [0, 1])]
    say(broker, ErrorCode.NONE, ErrorCode.NONE)
    assert lines(produced.get(timeout=10)) == [ErrorCode.NONE, ErrorCode.NONE]
    assert (end_offset(broker), end_offset(broker, 1)) == (1, 1)


@pytest.mark.parametrize(
    ("code", "answered"),
    [
        (ErrorCode.NONE, ErrorCode.NONE),
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_the_coordinator_of_this_broker_is_asked_without_a_request(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, code: ErrorCode, answered: ErrorCode
) -> None:
    verifier = broker.services.transaction_verifier
    monkeypatch.setattr(verifier, "_broker_id", verifier._coordinator_of(ID, -1))
    monkeypatch.setattr(verifier, "_own_coordinator", lambda *asked: dict.fromkeys(asked[3], code))
    sent = start(broker, request(batch()))
    assert lines(sent.get(timeout=1)) == [answered]
    assert not broker.coordinator.asked
    assert end_offset(broker) == (code is ErrorCode.NONE)


def test_what_follows_in_the_same_transaction_asks_nobody(broker: Broker) -> None:
    begin(broker)
    assert lines(broker.call(request(batch(sequence=1)), 9)) == [ErrorCode.NONE]
    assert len(broker.coordinator.asked) == 1


def test_the_next_transaction_is_asked_about_again(broker: Broker) -> None:
    begin(broker)
    abort(broker)
    begin(broker, sequence=1)
    assert len(broker.coordinator.asked) == 2


def test_only_the_transactional_batches_of_a_request_wait_for_it(broker: Broker) -> None:
    produced = start(broker, request(batch(transactional=False), batch()))
    (transaction,) = broker.coordinator.asked[0][1].transactions
    assert [topic.partitions for topic in transaction.topics] == [[1]]
    say(broker, ErrorCode.INVALID_TXN_STATE)
    assert lines(produced.get(timeout=10)) == [ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE]


def test_without_verification_nobody_is_asked(broker: Broker) -> None:
    broker.config.transaction_partition_verification_enable = False
    broker.log_manager.broker_config_changed(broker.config)
    assert lines(broker.call(request(batch()), 9)) == [ErrorCode.NONE]
    assert broker.coordinator.asked == []


def test_verification_may_be_switched_on_while_the_broker_runs(broker: Broker) -> None:
    broker.config.transaction_partition_verification_enable = False
    broker.log_manager.broker_config_changed(broker.config)
    broker.config.transaction_partition_verification_enable = True
    broker.log_manager.broker_config_changed(broker.config)
    begin(broker)


def test_an_old_coordinator_that_cannot_be_asked_is_done_without(broker: Broker) -> None:
    produced = start(broker, request(batch()))
    broker.coordinator.asked[0][2].fail(UnsupportedVersion())
    assert lines(produced.get(timeout=10)) == [ErrorCode.NONE]


# --- what producers are told -----------------------------------------------------------------------------------------

NOT_ADDED = "Partition was not added to the transaction"
UNABLE = "Unable to verify the partition has been added to the transaction. Underlying error: "


@pytest.mark.parametrize(
    ("said", "version", "code", "text"),
    [
        (ErrorCode.INVALID_TXN_STATE, 9, ErrorCode.INVALID_TXN_STATE, NOT_ADDED),
        (ErrorCode.TRANSACTION_ABORTABLE, 10, ErrorCode.INVALID_TXN_STATE, NOT_ADDED),
        (ErrorCode.TRANSACTION_ABORTABLE, 11, ErrorCode.TRANSACTION_ABORTABLE, None),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 9, ErrorCode.NOT_ENOUGH_REPLICAS, f"{UNABLE}CONCURRENT_TRANSACTIONS"),
        (ErrorCode.NOT_COORDINATOR, 9, ErrorCode.NOT_ENOUGH_REPLICAS, f"{UNABLE}NOT_COORDINATOR"),
        (ErrorCode.PRODUCER_FENCED, 9, ErrorCode.INVALID_PRODUCER_EPOCH, None),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 9, ErrorCode.INVALID_PRODUCER_ID_MAPPING, None),
    ],
)
def test_the_coordinators_codes_as_producers_know_them(
    broker: Broker, said: ErrorCode, version: int, code: ErrorCode, text: str | None
) -> None:
    produced = start(broker, request(batch()), version)
    say(broker, said)
    answer = answered(produced.get(timeout=10))
    assert (answer.error_code, answer.error_message) == (code, text)
    assert answer.base_offset == answer.log_append_time_ms == answer.log_start_offset == -1
    assert end_offset(broker) == 0


@pytest.mark.parametrize(
    ("said", "code", "text"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_TXN_STATE, NOT_ADDED),
        (
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"{UNABLE}COORDINATOR_LOAD_IN_PROGRESS",
        ),
    ],
)
def test_a_code_for_all_that_was_asked(broker: Broker, said: ErrorCode, code: ErrorCode, text: str) -> None:
    produced = start(broker, request(batch()))
    broker.coordinator.asked[0][2].complete(AddPartitionsToTxnResponse(error_code=said))
    answer = answered(produced.get(timeout=10))
    assert (answer.error_code, answer.error_message) == (code, text)


@pytest.mark.parametrize("failure", [NetworkError("gone"), BrokerNotAvailable(), ValueError("a bug")])
def test_a_coordinator_that_does_not_answer_has_producers_retry(broker: Broker, failure: Exception) -> None:
    produced = start(broker, request(batch()))
    broker.coordinator.asked[0][2].fail(failure)
    answer = answered(produced.get(timeout=10))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.NOT_ENOUGH_REPLICAS,
        f"{UNABLE}NETWORK_EXCEPTION",
    )


def nobody_leads(broker: Broker) -> None:
    broker.update_metadata({"__transaction_state": {0: -1}})


def its_leader_is_gone(broker: Broker) -> None:
    broker.coordinator.gone.add(2)


@pytest.mark.parametrize("befalls", [nobody_leads, its_leader_is_gone])
def test_a_coordinator_that_nobody_knows_has_producers_retry(broker: Broker, befalls: Callable[[Broker], None]) -> None:
    befalls(broker)
    answer = answered(broker.call(request(batch()), 9))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.NOT_ENOUGH_REPLICAS,
        f"{UNABLE}COORDINATOR_NOT_AVAILABLE",
    )


def test_a_partition_led_elsewhere_is_6_and_the_others_are_asked_about(broker: Broker) -> None:
    broker.order("t", 0, leader=2, replicas=(1, 2), epoch=1, partition_epoch=1)
    produced = start(broker, request(batch(), batch()))
    say(broker, ErrorCode.NONE)
    assert lines(produced.get(timeout=10)) == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE]


def test_every_partition_gets_its_own_answer_in_the_order_of_the_request(broker: Broker) -> None:
    broker.update_metadata({"u": {0: 1}})
    broker.lead("u")
    sent = request(batch(), batch())
    sent.topic_data.insert(
        0, TopicProduceData(name="nowhere", partition_data=[PartitionProduceData(index=0, records=batch())])
    )
    sent.topic_data.append(TopicProduceData(name="u", partition_data=[PartitionProduceData(index=0, records=batch())]))
    produced = start(broker, sent)
    say(broker, ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS)
    assert lines(produced.get(timeout=10)) == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.NONE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
    ]


def test_acks_0_learns_of_a_failed_verification_by_its_connection(broker: Broker) -> None:
    produced = start(broker, request(batch(), acks=0))
    say(broker, ErrorCode.INVALID_TXN_STATE)
    with pytest.raises(CloseConnection, match="INVALID_TXN_STATE"):
        produced.get(timeout=10)


# --- what may happen meanwhile ---------------------------------------------------------------------------------------


def test_rule_65_an_abort_that_overtakes_the_answer_ends_what_was_asked_for(broker: Broker) -> None:
    produced = start(broker, request(batch()))
    abort(broker)
    say(broker, ErrorCode.NONE)
    answer = answered(produced.get(timeout=10))
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_TXN_STATE, None)
    assert end_offset(broker) == 1


def test_rule_65_an_old_answer_is_no_answer_to_what_was_asked_since(broker: Broker) -> None:
    stale = start(broker, request(batch()))
    abort(broker)
    fresh = start(broker, request(batch()))
    say(broker, ErrorCode.NONE, at=0)
    assert lines(stale.get(timeout=10)) == [ErrorCode.INVALID_TXN_STATE]
    gevent.sleep(0)
    say(broker, ErrorCode.NONE, at=1)
    assert lines(fresh.get(timeout=10)) == [ErrorCode.NONE]


def test_batches_that_wait_together_begin_with_the_first_one_that_was_sent(broker: Broker) -> None:
    first = start(broker, request(batch(sequence=0)))
    second = start(broker, request(batch(sequence=1)))
    say(broker, ErrorCode.INVALID_TXN_STATE, at=0)
    assert lines(first.get(timeout=10)) == [ErrorCode.INVALID_TXN_STATE]
    say(broker, ErrorCode.NONE, at=1)
    assert lines(second.get(timeout=10)) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    again = start(broker, request(batch(sequence=0)))
    say(broker, ErrorCode.NONE, at=2)
    assert lines(again.get(timeout=10)) == [ErrorCode.NONE]


def test_one_request_to_a_coordinator_is_in_flight_and_the_next_asks_for_all_that_came_meanwhile(
    broker: Broker,
) -> None:
    produced = [start(broker, request(batch(producer_id=id), transactional_id=f"tx-{id}")) for id in (5, 6, 7)]
    assert len(broker.coordinator.asked) == 1
    say(broker, ErrorCode.NONE)
    assert [each.transactional_id for each in broker.coordinator.asked[1][1].transactions] == ["tx-6", "tx-7"]
    say(broker, ErrorCode.NONE, ErrorCode.NONE)
    assert [lines(each.get(timeout=10)) for each in produced] == [[ErrorCode.NONE]] * 3


@pytest.mark.parametrize(
    ("epochs", "codes"),
    [
        ((0, 0), (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NONE)),
        ((0, 1), (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.NONE)),
        ((1, 0), (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH)),
    ],
)
def test_of_two_that_wait_for_one_id_the_later_or_newer_one_stays(
    broker: Broker, epochs: tuple[int, int], codes: tuple[ErrorCode, ErrorCode]
) -> None:
    start(broker, request(batch(producer_id=9), transactional_id="other"))
    both = [start(broker, request(batch(epoch=epoch))) for epoch in epochs]
    say(broker, ErrorCode.NONE, at=0)
    say(broker, ErrorCode.NONE, at=1)
    assert [lines(each.get(timeout=10)) for each in both] == [[code] for code in codes]


def test_how_often_and_how_long_is_measured(broker: Broker) -> None:
    produced = start(broker, request(batch(), batch()))
    broker.clock.advance(40)
    say(broker, ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE)
    produced.get(timeout=10)
    manager = "kafka.server:type=AddPartitionsToTxnManager,name="
    failures: Any = broker.metrics.find(f"{manager}VerificationFailureRate")
    times: Any = broker.metrics.find(f"{manager}VerificationTimeMs")
    failures.fold(broker.clock.monotonic_ms())
    times.fold(broker.clock.monotonic_ms())
    assert failures.attributes()["Count"] == 1
    assert (times.attributes()["Count"], times.attributes()["Max"]) == (1, 40)
