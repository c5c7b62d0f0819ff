"""The same bad bytes to Apache's broker and to ours: the same error of each, or the same silence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_zk.protocol.messages.create_topics import CREATE_TOPICS_REQUEST, CreatableTopic, CreateTopicsRequest
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.record.compression import Codec
from tests.interop.bad_batches import FORMATS, Bad, Format, bad_batches
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import accepts_connections, wait_until
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.zookeeper import ZooKeeperServer

TOPIC = "bad"
NOW_MS = int(time.time() * 1000)


CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR, INVALID_RECORD, NO_TRANSACTIONS = 2, -1, 87, 53
REFUSALS = {CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR, INVALID_RECORD}


class Outcome(NamedTuple):
    """What a client sees of one batch; `error_code` is None when the connection was closed instead."""

    error_code: int | None
    is_appended: bool = False
    bad_records: tuple[tuple[int, str | None], ...] = ()
    message: str | None = None


def is_deliberate(made: Format, bad: Bad, apache: Outcome, ours: Outcome) -> bool:
    """The rows of docs/compat.md."""
    if ours.error_code == NO_TRANSACTIONS:
        return apache == ours._replace(message=None)
    if apache.error_code == 0 and made.magic < 2 and not apache.is_appended:
        return ours.error_code == INVALID_RECORD
    if made.codec is not Codec.NONE and bad.is_of_content:
        return apache.error_code in REFUSALS | {0} and ours.error_code in REFUSALS
    if bad.trips_java:
        return apache.error_code == UNKNOWN_SERVER_ERROR and ours.error_code in REFUSALS
    return bad.is_of_content and (apache.error_code, ours.error_code) == (UNKNOWN_SERVER_ERROR, INVALID_RECORD)


@pytest.fixture(scope="module")
def brokers(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ApacheBroker, OurBroker]]:
    folder: Path = tmp_path_factory.mktemp("bad-batches")
    same = {"num.partitions": str(len(FORMATS))}
    apache = ApacheBroker(folder / "apache", f"{zookeeper.connect}/{folder.name}-apache", overrides=same)
    ours = OurBroker(folder / "ours", f"{zookeeper.connect}/{folder.name}-ours", overrides=same)
    apache.launch()
    ours.start()
    apache.process.wait_ready(lambda: accepts_connections(apache.port), "Apache Kafka accepts connections")
    for broker in (apache, ours):
        wait_until(partial(has_topic, broker.bootstrap), "every partition takes records")
    yield apache, ours
    apache.kill()
    ours.stop()


def has_topic(bootstrap: str) -> bool:
    """Made, if it can be already, and each partition has its leader."""
    topic = CreatableTopic(name=TOPIC, num_partitions=len(FORMATS), replication_factor=1)
    with RawClient(bootstrap) as client:
        client.send(CREATE_TOPICS_REQUEST, CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
    producer = Producer(bootstrap)
    outcomes = [producer.send(made, at, made.good(NOW_MS)) for at, made in enumerate(FORMATS)]
    producer.close()
    return all(each.error_code == 0 for each in outcomes)


class Producer:
    """Sends one batch after the other; a new connection where one was closed."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._client = RawClient(bootstrap)

    def close(self) -> None:
        self._client.close()

    def send(self, made: Format, partition: int, data: bytes) -> Outcome:
        topic = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=partition, records=data)])
        request = ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[topic])
        try:
            answer = self._client.send(PRODUCE_REQUEST, request, made.produce_version)
        except ConnectionClosed:
            self.close()
            self._client = RawClient(self._bootstrap)
            return Outcome(None)
        part = answer.responses[0].partition_responses[0]
        errors = tuple((each.batch_index, each.batch_index_error_message) for each in part.record_errors)
        return Outcome(part.error_code, part.base_offset >= 0, errors, part.error_message)


def differences(brokers: tuple[ApacheBroker, OurBroker], made: Format) -> list[str]:
    apache, ours = (Producer(broker.bootstrap) for broker in brokers)
    partition, found = FORMATS.index(made), []
    try:
        for bad in bad_batches(made, NOW_MS):
            theirs, our_own = (each.send(made, partition, bad.data) for each in (apache, ours))
            if theirs != our_own and not is_deliberate(made, bad, theirs, our_own):
                found.append(f"{made.name}, {bad.name}:\n  Apache: {theirs}\n  ours:   {our_own}")
    finally:
        apache.close()
        ours.close()
    return found


@pytest.mark.parametrize("made", FORMATS, ids=lambda made: made.name)
def test_bad_batches_are_refused_as_apache_refuses_them(brokers: tuple[ApacheBroker, OurBroker], made: Format) -> None:
    found = differences(brokers, made)
    assert not found, "\n".join(found)
