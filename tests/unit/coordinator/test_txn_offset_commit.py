"""TxnOffsetCommit: what is refused, what is asked first, and which code each version of the client gets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest

from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, GroupAuthorizationFailed, TransactionalIdAuthorizationFailed
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from kafka_zk.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.unit.coordinator.test_coordinator_log import GROUP, OFFSETS, TP, Coordinated
from tests.unit.coordinator.test_group_apis import Denying

ID = "tx"
PRODUCER = 7
COORDINATOR = 2


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Coordinated]:
    """It verifies transactions, whose coordinator is another broker."""
    coordinated = Coordinated(tmp_path, **{"transaction.partition.verification.enable": "true"})
    coordinated.broker.services.group_coordinator = coordinated.coordinator
    coordinated.lead()
    coordinated.broker.update_metadata({TP.topic: {0: 1}, OFFSETS: {0: 1}, "__transaction_state": {0: COORDINATOR}})
    yield coordinated
    coordinated.close()


def request(*topics: str, **fields: Any) -> TxnOffsetCommitRequest:
    wanted = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata=None)
    return TxnOffsetCommitRequest(
        transactional_id=ID,
        group_id=fields.pop("group_id", GROUP),
        producer_id=PRODUCER,
        producer_epoch=0,
        topics=[TxnOffsetCommitRequestTopic(name=name, partitions=[wanted]) for name in topics or (TP.topic,)],
        **fields,
    )


def start(made: Coordinated, sent: TxnOffsetCommitRequest, version: int = 3) -> gevent.Greenlet[..., Any]:
    """A commit that has run until it waits for the coordinator of the transaction."""

    def commit() -> Any:
        answer = made.broker.call(sent, version)
        return answer.result(10_000) if isinstance(answer, Pending) else answer

    committed = gevent.spawn(commit)
    gevent.sleep(0)
    return committed


def say(made: Coordinated, code: ErrorCode) -> None:
    """The coordinator of the transaction answers."""
    _, asked, pending = made.broker.coordinator.asked[-1]
    (transaction,) = asked.transactions
    assert [(topic.name, topic.partitions) for topic in transaction.topics] == [(OFFSETS, [0])]
    line = AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=code)
    topic = AddPartitionsToTxnTopicResult(name=OFFSETS, results_by_partition=[line])
    result = AddPartitionsToTxnResult(transactional_id=ID, topic_results=[topic])
    pending.complete(AddPartitionsToTxnResponse(results_by_transaction=[result]))


def codes(response: Any) -> dict[str, ErrorCode]:
    return {topic.name: ErrorCode(topic.partitions[0].error_code) for topic in response.topics}


def committed(made: Coordinated, said: ErrorCode, version: int = 3, **fields: Any) -> ErrorCode:
    waiting = start(made, request(**fields), version)
    say(made, said)
    return codes(waiting.get(timeout=10))[TP.topic]


def is_pending(made: Coordinated) -> bool:
    """Whether a transaction holds the offset."""
    _, found = made.coordinator.fetch_offsets(GROUP, [TP], require_stable=True)
    return found[TP].error is ErrorCode.UNSTABLE_OFFSET_COMMIT


# --- who may ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("denied", "error"), [(ID, TransactionalIdAuthorizationFailed), (GROUP, GroupAuthorizationFailed)]
)
def test_both_the_transactional_id_and_the_group_are_asked_about(
    made: Coordinated, denied: str, error: type[Exception]
) -> None:
    made.broker.services.authorizer = Denying(denied)  # type: ignore[assignment]
    with pytest.raises(error):
        made.broker.call(request(), 3)


def test_topics_that_are_forbidden_or_missing_are_refused_alone(made: Coordinated) -> None:
    made.broker.services.authorizer = Denying("secret")  # type: ignore[assignment]
    waiting = start(made, request("secret", "nowhere", TP.topic))
    say(made, ErrorCode.NONE)
    assert codes(waiting.get(timeout=10)) == {
        "secret": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        "nowhere": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        TP.topic: ErrorCode.NONE,
    }


def test_where_nothing_is_left_nobody_is_asked(made: Coordinated) -> None:
    response = start(made, request("nowhere")).get(timeout=10)
    assert codes(response) == {"nowhere": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert made.broker.coordinator.asked == []


def test_a_group_without_a_name_is_24(made: Coordinated) -> None:
    response = start(made, request(group_id="")).get(timeout=10)
    assert codes(response) == {TP.topic: ErrorCode.INVALID_GROUP_ID}


# --- verification ----------------------------------------------------------------------------------------------------


def test_rule_65_the_coordinator_is_asked_before_the_first_offsets_of_a_transaction(made: Coordinated) -> None:
    waiting = start(made, request())
    assert not is_pending(made)
    say(made, ErrorCode.NONE)
    assert codes(waiting.get(timeout=10)) == {TP.topic: ErrorCode.NONE}
    assert is_pending(made)


def test_later_offsets_of_the_same_transaction_ask_nobody(made: Coordinated) -> None:
    assert committed(made, ErrorCode.NONE) is ErrorCode.NONE
    assert codes(start(made, request()).get(timeout=10)) == {TP.topic: ErrorCode.NONE}
    assert len(made.broker.coordinator.asked) == 1


@pytest.mark.parametrize(
    ("said", "version", "code"),
    [
        (ErrorCode.INVALID_TXN_STATE, 3, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 3, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.PRODUCER_FENCED, 3, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, 3, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, 4, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 3, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.NETWORK_EXCEPTION, 3, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ErrorCode.NETWORK_EXCEPTION, 1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_the_coordinators_codes_as_clients_know_them(
    made: Coordinated, said: ErrorCode, version: int, code: ErrorCode
) -> None:
    assert committed(made, said, version) is code
    assert not is_pending(made)


def test_a_group_that_has_moved_meanwhile_is_not_written(made: Coordinated) -> None:
    waiting = start(made, request())
    made.follow(epoch=1)
    say(made, ErrorCode.NONE)
    assert codes(waiting.get(timeout=10)) == {TP.topic: ErrorCode.NOT_COORDINATOR}


def test_a_member_is_checked_against_its_group(made: Coordinated) -> None:
    made.member()
    wrong = {"member_id": "stranger", "generation_id": 1}
    assert committed(made, ErrorCode.NONE, **wrong) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_marker_that_overtakes_the_answer_has_the_commit_refused(made: Coordinated) -> None:
    waiting = start(made, request())
    made.broker.partition(OFFSETS, 0).leader_log()._state.verifications.end(PRODUCER)
    say(made, ErrorCode.NONE)
    assert codes(waiting.get(timeout=10)) == {TP.topic: ErrorCode.INVALID_TXN_STATE}
    assert not is_pending(made)
