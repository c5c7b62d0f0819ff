"""A coordinator of transactions is paused, another one takes over, and it goes on: what it answers from its memory.

Requests reach it while it is paused, so that it serves them before it hears of the other one. An Apache broker answers
as if nothing had happened; ours finds out first whether it still coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.header import decode_response_header, response_header_is_flexible
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    ADD_PARTITIONS_TO_TXN_REQUEST,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafka_zk.protocol.messages.end_txn import END_TXN_REQUEST, EndTxnRequest
from kafka_zk.protocol.messages.init_producer_id import INIT_PRODUCER_ID_REQUEST, InitProducerIdRequest
from tests.interop.chains.cluster import TRANSACTIONS, Broker, Cluster
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import paused, wait_until
from tests.support.raw_client import RawClient

KINDS = {"apache": ApacheBroker, "ours": OurBroker}
AWAY = 2
"""It is not the controller: that one started first."""
PASSING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
TOPIC = "t"
VERSION = 3

pytestmark = pytest.mark.slow


class Producer:
    """Of one transactional id; its requests go where it is told."""

    def __init__(self, broker: Broker, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=600_000)
        given: list[Any] = []

        def begins() -> bool:
            with RawClient(broker.bootstrap) as client:
                answer = client.send(INIT_PRODUCER_ID_REQUEST, request, 4)
            code = ErrorCode(answer.error_code)
            assert code is ErrorCode.NONE or code in PASSING, code
            given.append(answer)
            return code is ErrorCode.NONE

        wait_until(begins, f"{transactional_id} has begun")
        self._producer_id, self._epoch = given[-1].producer_id, given[-1].producer_epoch

    def adding(self) -> AddPartitionsToTxnRequest:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])],
        )

    def ending(self, *, commit: bool) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=commit,
        )

    def adds(self, broker: Broker) -> None:
        wait_until(lambda: self._is_done(added(ask(broker, self.adding()))), f"{self.transactional_id} adds")

    def ends(self, broker: Broker, *, commit: bool) -> None:
        """Until all markers are written, too: the coordinator says so of an end that is asked for again."""
        request = self.ending(commit=commit)
        for asked in ("is decided", "is complete"):
            wait_until(
                lambda: self._is_done(ErrorCode(ask(broker, request).error_code)), f"{self.transactional_id} {asked}"
            )

    def _is_done(self, code: ErrorCode) -> bool:
        assert code is ErrorCode.NONE or code in PASSING, code
        return code is ErrorCode.NONE


def ask(broker: Broker, request: Any) -> Any:
    message = END_TXN_REQUEST if isinstance(request, EndTxnRequest) else ADD_PARTITIONS_TO_TXN_REQUEST
    with RawClient(broker.bootstrap) as client:
        return client.send(message, request, VERSION)


def added(answer: Any) -> ErrorCode:
    return ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> type[Broker]:
    return KINDS[request.param]


@pytest.fixture
def cluster(tmp_path: Path, zookeeper_connect: str, kind: type[Broker]) -> Iterator[Cluster]:
    made = Cluster(tmp_path, zookeeper_connect, [kind] * 3)
    yield made
    made.close()


def coordinator_of(cluster: Cluster, producer: Producer) -> Broker | None:
    """Another one than the one that is away, as soon as there is one."""
    number = cluster._named_by(cluster.brokers[0], producer.transactional_id, TRANSACTIONS)
    return None if number in (None, AWAY) else cluster.brokers[number]


def replaced(cluster: Cluster, producer: Producer) -> Broker:
    """Waits for who takes over."""
    found: list[Broker] = []

    def is_replaced() -> bool:
        other = coordinator_of(cluster, producer)
        found.extend([] if other is None else [other])
        return other is not None

    wait_until(is_replaced, f"another broker coordinates {producer.transactional_id}")
    return found[-1]


def answer_to(client: RawClient, message: Message[Any]) -> Any:
    """To the only request that was posted."""
    assert message.api_key is not None
    frame = client.receive_frame()
    _, position = decode_response_header(frame, response_header_is_flexible(message.api_key, VERSION))
    return API_TABLE[message.api_key].response.decode(frame, VERSION, position)


def test_what_a_replaced_coordinator_answers(cluster: Cluster, kind: type[Broker]) -> None:
    """An end: the producer has begun its next transaction elsewhere. Partitions: another producer has aborted it."""
    away = cluster.brokers[AWAY]
    cluster.create(TOPIC, 1)
    ending, adding = (Producer(away, cluster.name_kept_by(AWAY, name, TRANSACTIONS)) for name in ("ending", "adding"))
    ending.adds(away)
    ending.ends(away, commit=True)
    adding.adds(away)
    with RawClient(away.bootstrap) as first, RawClient(away.bootstrap) as second:
        with paused(away.process.pid):
            cluster.end_session(AWAY)
            ending.adds(replaced(cluster, ending))
            Producer(replaced(cluster, adding), adding.transactional_id)
            first.post(END_TXN_REQUEST, ending.ending(commit=True), VERSION)
            second.post(ADD_PARTITIONS_TO_TXN_REQUEST, adding.adding(), VERSION)
        ended = ErrorCode(answer_to(first, END_TXN_REQUEST).error_code)
        has_added = added(answer_to(second, ADD_PARTITIONS_TO_TXN_REQUEST))
    wanted = ErrorCode.NONE if kind is ApacheBroker else ErrorCode.NOT_COORDINATOR
    assert (ended, has_added) == (wanted, wanted)
