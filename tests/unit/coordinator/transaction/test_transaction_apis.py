"""The handlers of the transaction APIs: what they refuse, where they put it, and what older versions call it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.api.txn.add_partitions_to_txn import VERIFICATION, _variant
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_zk.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_zk.protocol.messages.end_txn import EndTxnRequest
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_zk.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_zk.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_zk.protocol.types import TopicPartition
from tests.unit.coordinator.test_group_apis import Denying
from tests.unit.coordinator.transaction.transaction_world import T0, T1, TIMEOUT_MS, World
from tests.unit.replication.broker import Broker

OFFSETS, STATE = "__consumer_offsets", "__transaction_state"
TRANSACTION = 1


@pytest.fixture
def broker(tmp_path: Path, scene: World) -> Iterator[Broker]:
    """A broker whose transaction coordinator is that of `scene`."""
    made = Broker(tmp_path)
    made.update_metadata({"t": {0: 1, 1: 1}, OFFSETS: {0: 1}, STATE: {0: 1, 1: 1}})
    made.services.transaction_coordinator = scene.coordinator
    groups: Any = SimpleNamespace(partition_for=lambda _: 0)
    made.services.group_coordinator = groups
    yield made
    made.close()


@pytest.fixture
def producer(scene: World) -> ProducerIdAndEpoch:
    return scene.producer()


def settled(answer: Any) -> Any:
    return answer.value if isinstance(answer, Pending) else answer


def adds(who: ProducerIdAndEpoch, *partitions: TopicPartition) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="id",
        v3_and_below_producer_id=who.producer_id,
        v3_and_below_producer_epoch=who.epoch,
        v3_and_below_topics=topics(partitions),
    )


def topics(partitions: tuple[TopicPartition, ...]) -> list[AddPartitionsToTxnTopic]:
    return [AddPartitionsToTxnTopic(name=topic, partitions=[index]) for topic, index in partitions]


def transaction(
    who: ProducerIdAndEpoch, *partitions: TopicPartition, verify: bool = True, transactional_id: str = "id"
) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=who.producer_id,
        producer_epoch=who.epoch,
        verify_only=verify,
        topics=topics(partitions),
    )


def codes(results: Any) -> dict[TopicPartition, ErrorCode]:
    return {
        TopicPartition(topic.name, each.partition_index): ErrorCode(each.partition_error_code)
        for topic in results
        for each in topic.results_by_partition
    }


def added(broker: Broker, request: AddPartitionsToTxnRequest, version: int = 3) -> dict[TopicPartition, ErrorCode]:
    return codes(settled(broker.call(request, version)).results_by_topic_v3_and_below)


# --- who may --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_of_producer",
    [
        InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=TIMEOUT_MS),
        AddOffsetsToTxnRequest(transactional_id="id", group_id="g"),
        EndTxnRequest(transactional_id="id"),
    ],
    ids=lambda request: type(request).__name__,
)
def test_whoever_may_not_write_the_id_is_refused(broker: Broker, request_of_producer: Any) -> None:
    broker.services.authorizer = Denying("id")
    with pytest.raises(BrokerError) as refused:
        broker.call(request_of_producer, 3)
    assert refused.value.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_partitions_of_an_id_that_may_not_be_written_are_refused_each(
    broker: Broker, producer: ProducerIdAndEpoch
) -> None:
    broker.services.authorizer = Denying("id")
    refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert added(broker, adds(producer, T0, T1)) == {T0: refused, T1: refused}


def test_offsets_of_a_group_that_may_not_be_read_are_refused(broker: Broker) -> None:
    broker.services.authorizer = Denying("g")
    with pytest.raises(BrokerError) as refused:
        broker.call(AddOffsetsToTxnRequest(transactional_id="id", group_id="g"), 3)
    assert refused.value.code is ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_only_brokers_ask_about_many_transactions(broker: Broker) -> None:
    broker.services.authorizer = Denying("kafka-cluster")
    with pytest.raises(BrokerError) as refused:
        broker.call(AddPartitionsToTxnRequest(transactions=[]), 4)
    assert refused.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_ids_and_topics_that_may_not_be_seen_are_left_out(
    broker: Broker, scene: World, producer: ProducerIdAndEpoch
) -> None:
    scene.adds(producer, T0)
    broker.services.authorizer = Denying("t")
    (seen,) = broker.call(DescribeTransactionsRequest(transactional_ids=["id"]), 0).transaction_states
    assert (seen.transaction_state, seen.topics) == ("Ongoing", [])
    broker.services.authorizer = Denying("id")
    (refused,) = broker.call(DescribeTransactionsRequest(transactional_ids=["id"]), 0).transaction_states
    assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert broker.call(ListTransactionsRequest(), 1).transaction_states == []


# --- one bad partition ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (TopicPartition("t", 7), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("nowhere", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition(OFFSETS, 0), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (TopicPartition(STATE, 0), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (TopicPartition("secret", 0), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ],
)
def test_one_partition_that_cannot_be_added_keeps_all_others_out(
    broker: Broker, scene: World, producer: ProducerIdAndEpoch, bad: TopicPartition, code: ErrorCode
) -> None:
    broker.update_metadata({"secret": {0: 1}})
    broker.services.authorizer = Denying("secret")
    assert added(broker, adds(producer, T0, bad)) == {T0: ErrorCode.OPERATION_NOT_ATTEMPTED, bad: code}
    assert scene.state() == "Empty"


def test_offsets_are_added_as_the_partition_of_their_group(
    broker: Broker, scene: World, producer: ProducerIdAndEpoch
) -> None:
    request = AddOffsetsToTxnRequest(
        transactional_id="id", producer_id=producer.producer_id, producer_epoch=producer.epoch, group_id="g"
    )
    assert settled(broker.call(request, 3)).error_code == ErrorCode.NONE
    assert scene.found().partitions == {TopicPartition(OFFSETS, 0)}


# --- versions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "code"), [(0, "INVALID_PRODUCER_EPOCH"), (1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")]
)
def test_71_old_clients_know_a_fenced_producer_by_another_name(
    broker: Broker, producer: ProducerIdAndEpoch, version: int, code: str
) -> None:
    old = ProducerIdAndEpoch(producer.producer_id, producer.epoch - 1)
    assert added(broker, adds(old, T0), version)[T0].name == code
    request = {"transactional_id": "id", "producer_id": old.producer_id, "producer_epoch": old.epoch}
    ended = settled(broker.call(EndTxnRequest(**request), version))
    of_group = settled(broker.call(AddOffsetsToTxnRequest(group_id="g", **request), version))
    assert ErrorCode(ended.error_code).name == ErrorCode(of_group.error_code).name == code


@pytest.mark.parametrize(("version", "code"), [(3, "INVALID_PRODUCER_EPOCH"), (4, "PRODUCER_FENCED")])
def test_71_who_begins_with_an_old_epoch_is_told_in_the_words_of_its_version(
    broker: Broker, scene: World, producer: ProducerIdAndEpoch, version: int, code: str
) -> None:
    scene.begins()
    scene.begins()
    request = InitProducerIdRequest(
        transactional_id="id",
        transaction_timeout_ms=TIMEOUT_MS,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
    )
    answer = settled(broker.call(request, version))
    assert (ErrorCode(answer.error_code).name, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


@pytest.mark.parametrize(("producer_id", "epoch"), [(1, -1), (-1, 0)])
def test_half_of_a_producer_is_no_producer(broker: Broker, producer_id: int, epoch: int) -> None:
    request = InitProducerIdRequest(
        transactional_id="id", transaction_timeout_ms=TIMEOUT_MS, producer_id=producer_id, producer_epoch=epoch
    )
    with pytest.raises(BrokerError) as refused:
        broker.call(request, 3)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


# --- brokers that ask -----------------------------------------------------------------------------------------------


def test_65_a_broker_is_told_of_each_partition_whether_the_transaction_has_it(
    broker: Broker, scene: World, producer: ProducerIdAndEpoch
) -> None:
    scene.adds(producer, T0)
    stranger = ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)
    request = AddPartitionsToTxnRequest(
        transactions=[
            transaction(producer, T0, T1),
            transaction(stranger, T0),
            transaction(producer, T0, transactional_id="unknown"),
        ]
    )
    answer = settled(broker.call(request, 4))
    assert [each.transactional_id for each in answer.results_by_transaction] == ["id", "id", "unknown"]
    assert [codes(each.topic_results) for each in answer.results_by_transaction] == [
        {T0: ErrorCode.NONE, T1: ErrorCode.TRANSACTION_ABORTABLE},
        {T0: ErrorCode.PRODUCER_FENCED},
        {T0: ErrorCode.INVALID_PRODUCER_ID_MAPPING},
    ]
    assert scene.found().partitions == {T0}, "nothing is added by asking"


def test_a_broker_may_add_too(broker: Broker, scene: World, producer: ProducerIdAndEpoch) -> None:
    request = AddPartitionsToTxnRequest(transactions=[transaction(producer, T0, T1, verify=False)])
    (result,) = settled(broker.call(request, 5)).results_by_transaction
    assert codes(result.topic_results) == {T0: ErrorCode.NONE, T1: ErrorCode.NONE}
    assert scene.found().partitions == {T0, T1}


def test_nothing_asked_is_answered_with_nothing(broker: Broker) -> None:
    assert settled(broker.call(AddPartitionsToTxnRequest(transactions=[]), 4)).results_by_transaction == []


def test_requests_that_only_ask_count_under_a_name_of_their_own(producer: ProducerIdAndEpoch) -> None:
    asks, sends = transaction(producer, T0), transaction(producer, T0, verify=False)
    assert _variant(AddPartitionsToTxnRequest(transactions=[asks])) == VERIFICATION
    assert _variant(AddPartitionsToTxnRequest(transactions=[asks, sends])) == ""
    assert _variant(adds(producer, T0)) == ""


# --- what is there ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, 7))
def test_the_coordinator_is_the_leader_of_the_ids_partition(broker: Broker, version: int) -> None:
    request = FindCoordinatorRequest(key="id", key_type=TRANSACTION, coordinator_keys=["id"])
    answer = broker.call(request, version)
    found = answer if version < 4 else answer.coordinators[0]
    assert (found.error_code, found.node_id, found.port) == (0, 1, 9001)


def test_transactions_are_listed_by_state_producer_and_age(broker: Broker, scene: World) -> None:
    idle, busy = scene.producer("idle"), scene.producer("busy")
    scene.adds(busy, T0, transactional_id="busy")
    broker.clock.advance(scene.clock.wall_ms() + 5_000 - broker.clock.wall_ms())

    def listed(version: int = 1, **filters: Any) -> list[str]:
        answer = broker.call(ListTransactionsRequest(**filters), version)
        return sorted(each.transactional_id for each in answer.transaction_states)

    assert listed() == ["busy", "idle"]
    assert listed(state_filters=["Ongoing"]) == ["busy"]
    assert listed(state_filters=["Empty", "Ongoing"], producer_id_filters=[idle.producer_id]) == ["idle"]
    assert listed(duration_filter=4_999, state_filters=["Ongoing"]) == ["busy"]
    assert listed(duration_filter=5_000, state_filters=["Ongoing"]) == []
    unknown = broker.call(ListTransactionsRequest(state_filters=["ongoing", "x", "x"]), 1)
    assert (unknown.unknown_state_filters, unknown.transaction_states) == (["ongoing", "x"], [])


def test_unknown_ids_and_those_of_others_are_described_with_a_code(broker: Broker, scene: World) -> None:
    scene.producer()
    states = broker.call(DescribeTransactionsRequest(transactional_ids=["id", "x", ""]), 0).transaction_states
    assert [ErrorCode(each.error_code).name for each in states] == [
        "NONE",
        "TRANSACTIONAL_ID_NOT_FOUND",
        "INVALID_REQUEST",
    ]
    scene.resign(scene.partition_of("id"))
    (moved,) = broker.call(DescribeTransactionsRequest(transactional_ids=["id"]), 0).transaction_states
    assert moved.error_code == ErrorCode.NOT_COORDINATOR
