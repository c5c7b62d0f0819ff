"""What the admin client asks about transactions and their producers, of whom, and when it asks once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.transaction_results import (
    AbortTransactionSpec,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from kafka_zk.client.errors import KafkaException, TimeoutException
from kafka_zk.protocol.errors import (
    ErrorCode,
    InvalidProducerEpoch,
    NotLeaderOrFollower,
    TransactionalIdAuthorizationFailed,
    TransactionalIdNotFound,
    UnsupportedVersion,
)
from kafka_zk.protocol.messages import (
    describe_producers,
    describe_transactions,
    find_coordinator,
    list_transactions,
    metadata,
    write_txn_markers,
)
from kafka_zk.protocol.types import TopicPartition
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

METADATA, FIND_COORDINATOR, WRITE_TXN_MARKERS = 3, 10, 27
DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 61, 65, 66
VERSIONS = {
    API_VERSIONS_KEY: (0, 4),
    METADATA: (0, 12),
    FIND_COORDINATOR: (0, 6),
    WRITE_TXN_MARKERS: (0, 1),
    DESCRIBE_PRODUCERS: (0, 0),
    DESCRIBE_TRANSACTIONS: (0, 0),
    LIST_TRANSACTIONS: (0, 1),
}
T0 = TopicPartition("t", 0)
SPEC = AbortTransactionSpec(T0, 7, 3, 5)


@contextmanager
def serving(versions: Mapping[int, tuple[int, int]]) -> Iterator[ScriptedBroker]:
    """A broker that leads a partition and coordinates every transaction."""
    with ScriptedBroker({}, versions=dict(versions)) as scripted:
        scripted.handlers[METADATA] = lambda request, _: metadata.MetadataResponse(
            brokers=[metadata.MetadataResponseBroker(node_id=1, host=scripted.host, port=scripted.port)],
            topics=[
                metadata.MetadataResponseTopic(
                    name=topic.name, partitions=[metadata.MetadataResponsePartition(partition_index=0, leader_id=1)]
                )
                for topic in request.topics or ()
            ],
        )
        scripted.handlers[FIND_COORDINATOR] = coordinating(scripted)
        yield scripted


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with serving(VERSIONS) as scripted:
        yield scripted


def coordinating(broker: ScriptedBroker, error_code: ErrorCode = ErrorCode.NONE) -> Callable[[Any, int], Any]:
    def find(request: find_coordinator.FindCoordinatorRequest, _: int) -> find_coordinator.FindCoordinatorResponse:
        assert request.key_type == 1, "a transactional id"
        found = [
            find_coordinator.Coordinator(key=key, node_id=1, host=broker.host, port=broker.port, error_code=error_code)
            for key in request.coordinator_keys
        ]
        return find_coordinator.FindCoordinatorResponse(coordinators=found)

    return find


def admin_of(broker: ScriptedBroker, **properties: str) -> AdminClient:
    quick = {"retry.backoff.ms": "1", "retry.backoff.max.ms": "2"}
    return AdminClient({"bootstrap.servers": broker.bootstrap, **quick, **properties})


def asked(broker: ScriptedBroker, key: int) -> int:
    return sum(seen == key for seen, _ in broker.seen)


def one_after_the_other(*answers: Any) -> Callable[[Any, int], Any]:
    """Answers that need not look at the request, the last one for ever."""
    rest = list(answers)
    return lambda *_: rest.pop(0) if len(rest) > 1 else rest[0]


# --- listing ---------------------------------------------------------------------------------------------------------


def listed(error_code: ErrorCode = ErrorCode.NONE) -> list_transactions.ListTransactionsResponse:
    one = list_transactions.TransactionState(transactional_id="a", producer_id=7, transaction_state="Ongoing")
    return list_transactions.ListTransactionsResponse(error_code=error_code, transaction_states=[one])


def test_a_coordinator_that_loads_is_asked_for_its_list_again(broker: ScriptedBroker) -> None:
    broker.handlers[LIST_TRANSACTIONS] = one_after_the_other(listed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), listed())
    with admin_of(broker) as admin:
        assert admin.list_transactions() == {1: [TransactionListing("a", 7, TransactionState.ONGOING)]}
    assert asked(broker, LIST_TRANSACTIONS) == 2


def test_filters_reach_the_broker(broker: ScriptedBroker) -> None:
    seen = []
    broker.handlers[LIST_TRANSACTIONS] = lambda request, _: seen.append(request) or listed()
    with admin_of(broker) as admin:
        admin.list_transactions(states=[TransactionState.PREPARE_ABORT], producer_ids=[7, 8], longer_than_ms=5)
    assert seen == [
        list_transactions.ListTransactionsRequest(
            state_filters=["PrepareAbort"], producer_id_filters=[7, 8], duration_filter=5
        )
    ]


def test_a_broker_that_knows_no_durations_is_not_asked_for_one() -> None:
    with serving({**VERSIONS, LIST_TRANSACTIONS: (0, 0)}) as broker:
        broker.handlers[LIST_TRANSACTIONS] = one_after_the_other(listed())
        with admin_of(broker) as admin:
            assert admin.list_transactions()
            with pytest.raises(UnsupportedVersion, match=r"^Duration filter can be set only when using API version 1"):
                admin.list_transactions(longer_than_ms=0)
        assert asked(broker, LIST_TRANSACTIONS) == 1


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, "failed because the coordinator is shutting down"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, "failed with an unexpected exception"),
    ],
)
def test_any_other_error_of_a_coordinator_ends_the_listing(broker: ScriptedBroker, code: ErrorCode, text: str) -> None:
    broker.handlers[LIST_TRANSACTIONS] = one_after_the_other(listed(code))
    with admin_of(broker) as admin, pytest.raises(Exception, match=f"sent to broker 1 {text}$"):
        admin.list_transactions()
    assert asked(broker, LIST_TRANSACTIONS) == 1


# --- describing transactions -----------------------------------------------------------------------------------------


def described(error_code: ErrorCode = ErrorCode.NONE, **fields: Any) -> Any:
    state = describe_transactions.TransactionState(transactional_id="a", error_code=error_code, **fields)
    return describe_transactions.DescribeTransactionsResponse(transaction_states=[state])


def test_a_coordinator_is_found_again_if_it_moved_and_asked_again_if_it_loads(broker: ScriptedBroker) -> None:
    topics = [describe_transactions.TopicData(topic="t", partitions=[0, 2])]
    broker.handlers[DESCRIBE_TRANSACTIONS] = one_after_the_other(
        described(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        described(ErrorCode.NOT_COORDINATOR),
        described(
            transaction_state="PrepareCommit",
            transaction_timeout_ms=60_000,
            transaction_start_time_ms=-1,
            producer_id=7,
            producer_epoch=3,
            topics=topics,
        ),
    )
    with admin_of(broker) as admin:
        assert admin.describe_transactions(["a"]) == {
            "a": TransactionDescription(
                1, TransactionState.PREPARE_COMMIT, 7, 3, 60_000, None, [T0, TopicPartition("t", 2)]
            )
        }
    assert asked(broker, FIND_COORDINATOR) == 2


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, "failed because the ID could not be found"),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "failed due to authorization failure"),
        (ErrorCode.INVALID_REQUEST, "failed due to unexpected error"),
    ],
)
def test_an_id_that_cannot_be_described_gets_its_error(broker: ScriptedBroker, code: ErrorCode, text: str) -> None:
    broker.handlers[DESCRIBE_TRANSACTIONS] = one_after_the_other(described(code))
    with admin_of(broker) as admin:
        error = admin.describe_transactions(["a"])["a"]
    assert str(error) == f"DescribeTransactions request for transactionalId `a` {text}"
    assert isinstance(error, TransactionalIdNotFound) is (code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)


def test_an_id_whose_coordinator_may_not_be_found_gets_that_error(broker: ScriptedBroker) -> None:
    broker.handlers[FIND_COORDINATOR] = coordinating(broker, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    with admin_of(broker) as admin:
        error = admin.describe_transactions(["a"])["a"]
    assert isinstance(error, TransactionalIdAuthorizationFailed)
    key = "CoordinatorKey(idValue='a', type=TRANSACTION)"
    assert str(error) == f"FindCoordinator request for transactionalId `{key}` failed due to authorization failure"


# --- describing producers --------------------------------------------------------------------------------------------


def producers(error_code: ErrorCode = ErrorCode.NONE) -> describe_producers.DescribeProducersResponse:
    one = describe_producers.ProducerState(
        producer_id=7, producer_epoch=3, last_sequence=9, last_timestamp=99, coordinator_epoch=-1
    )
    partition = describe_producers.PartitionResponse(partition_index=0, error_code=error_code, active_producers=[one])
    return describe_producers.DescribeProducersResponse(
        topics=[describe_producers.TopicResponse(name="t", partitions=[partition])]
    )


FOUND = {T0: [ProducerState(7, 3, 9, 99, None, None)]}


def test_a_leader_that_moved_is_found_again(broker: ScriptedBroker) -> None:
    broker.handlers[DESCRIBE_PRODUCERS] = one_after_the_other(
        producers(ErrorCode.NOT_LEADER_OR_FOLLOWER), producers(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), producers()
    )
    with admin_of(broker) as admin:
        assert admin.describe_producers([T0]) == FOUND
    assert asked(broker, DESCRIBE_PRODUCERS) == 3


def test_a_broker_asked_by_its_id_must_have_a_replica_but_may_learn_of_it_late(broker: ScriptedBroker) -> None:
    broker.handlers[DESCRIBE_PRODUCERS] = one_after_the_other(
        producers(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), producers(), producers(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    )
    with admin_of(broker) as admin:
        assert admin.describe_producers([T0], broker_id=1) == FOUND
        error = admin.describe_producers([T0], broker_id=1)[T0]
        assert admin.describe_producers([], broker_id=1) == {}
    assert isinstance(error, NotLeaderOrFollower)
    assert str(error) == "Failed to describe active producers for partition t-0 on brokerId 1"
    assert asked(broker, DESCRIBE_PRODUCERS) == 3


def test_a_broker_that_is_not_there_is_waited_for_until_the_deadline(broker: ScriptedBroker) -> None:
    with admin_of(broker, **{"default.api.timeout.ms": "50", "request.timeout.ms": "50"}) as admin:
        error = admin.describe_producers([T0], broker_id=9)[T0]
    assert isinstance(error, TimeoutException)
    assert "describeProducers(api=DESCRIBE_PRODUCERS)" in str(error)


# --- aborting --------------------------------------------------------------------------------------------------------


def marked(error_code: ErrorCode = ErrorCode.NONE, producer_id: int = 7) -> write_txn_markers.WriteTxnMarkersResponse:
    partition = write_txn_markers.WritableTxnMarkerPartitionResult(partition_index=0, error_code=error_code)
    topic = write_txn_markers.WritableTxnMarkerTopicResult(name="t", partitions=[partition])
    return write_txn_markers.WriteTxnMarkersResponse(
        markers=[write_txn_markers.WritableTxnMarkerResult(producer_id=producer_id, topics=[topic])]
    )


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_an_abort_looks_for_the_leader_again(broker: ScriptedBroker, code: ErrorCode) -> None:
    answers, seen = one_after_the_other(marked(code), marked()), []
    broker.handlers[WRITE_TXN_MARKERS] = lambda request, version: seen.append(request) or answers(request, version)
    with admin_of(broker) as admin:
        admin.abort_transaction(SPEC)
    assert len(seen) == 2
    topic = write_txn_markers.WritableTxnMarkerTopic(name="t", partition_indexes=[0])
    assert seen[1].markers == [
        write_txn_markers.WritableTxnMarker(
            producer_id=7, producer_epoch=3, transaction_result=False, topics=[topic], coordinator_epoch=5
        )
    ]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "failed due to cluster authorization error"),
        (ErrorCode.INVALID_PRODUCER_EPOCH, "failed due an invalid producer epoch"),
        (
            ErrorCode.TRANSACTION_COORDINATOR_FENCED,
            "failed since the provided coordinator epoch 5 has been fenced by the active coordinator",
        ),
        (
            ErrorCode.REQUEST_TIMED_OUT,
            "failed due to unexpected error: The request timed out.",
        ),
    ],
)
def test_an_abort_that_is_refused_says_why(broker: ScriptedBroker, code: ErrorCode, reason: str) -> None:
    broker.handlers[WRITE_TXN_MARKERS] = one_after_the_other(marked(code))
    with admin_of(broker) as admin, pytest.raises(Exception) as refused:
        admin.abort_transaction(SPEC)
    assert str(refused.value) == f"WriteTxnMarkers request with {SPEC} {reason}"
    assert isinstance(refused.value, InvalidProducerEpoch) is (code is ErrorCode.INVALID_PRODUCER_EPOCH)


def test_an_answer_about_another_transaction_is_no_success(broker: ScriptedBroker) -> None:
    broker.handlers[WRITE_TXN_MARKERS] = one_after_the_other(marked(producer_id=8))
    with admin_of(broker) as admin, pytest.raises(KafkaException, match="included unexpected entries"):
        admin.abort_transaction(SPEC)
