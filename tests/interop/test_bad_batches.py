"""The same bad bytes to Apache's broker and to ours: the same error of each, or the same silence."""

from __future__ import annotations

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
from kafka_zk.record import Record, build_batch
from kafka_zk.record.compression import Codec
from tests.interop.bad_batches import FORMATS, Bad, Format, bad_batches
from tests.support import masks
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.masks import Excuse
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.zookeeper import ZooKeeperServer

TOPIC = "bad"
MADE_MS = 1_763_000_000_000
"""Of all records, in every run: what is compressed is as long as its times allow."""

CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR, INVALID_RECORD, NOT_AUTHORIZED = 2, -1, 87, 53
REFUSALS = {CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR, INVALID_RECORD}


class Outcome(NamedTuple):
    """What a client sees of one batch; `error_code` is None when the connection was closed instead."""

    error_code: int | None
    is_appended: bool = False
    bad_records: tuple[tuple[int, str | None], ...] = ()
    message: str | None = None


def is_of_no_message(made: Format, _bad: Bad, apache: Outcome, ours: Outcome) -> bool:
    appends_nothing = apache.error_code == 0 and not apache.is_appended
    return made.magic < 2 and appends_nothing and ours.error_code == INVALID_RECORD


def is_of_compressed_bytes(made: Format, bad: Bad, apache: Outcome, ours: Outcome) -> bool:
    may_be_refused = apache.error_code in REFUSALS or apache.is_appended
    return made.codec is not Codec.NONE and bad.is_of_content and may_be_refused and ours.error_code in REFUSALS


def is_of_a_length(_made: Format, bad: Bad, apache: Outcome, ours: Outcome) -> bool:
    return bad.trips_java and apache.error_code == UNKNOWN_SERVER_ERROR and ours.error_code in REFUSALS


def is_of_a_varint(made: Format, bad: Bad, apache: Outcome, ours: Outcome) -> bool:
    codes = apache.error_code, ours.error_code
    return made.codec is Codec.NONE and bad.is_of_content and codes == (UNKNOWN_SERVER_ERROR, INVALID_RECORD)


EXCUSES = (
    Excuse("empty message sets", allowed("empty-message-sets"), is_of_no_message),
    Excuse("damaged compression", allowed("damaged-compression"), is_of_compressed_bytes),
    Excuse("lengths", allowed("lengths-beyond-java"), is_of_a_length),
    Excuse("varints", allowed("overlong-varints"), is_of_a_varint),
)


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
    apache.wait_ready()
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
    outcomes = [producer.send(made, at, made.good(MADE_MS)) for at, made in enumerate(FORMATS)]
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
        for bad in bad_batches(made, MADE_MS):
            theirs, our_own = (each.send(made, partition, bad.data) for each in (apache, ours))
            if theirs != our_own and not masks.excused(EXCUSES, made, bad, theirs, our_own):
                found.append(f"{made.name}, {bad.name}:\n  Apache: {theirs}\n  ours:   {our_own}")
    finally:
        apache.close()
        ours.close()
    return found


@pytest.mark.parametrize("made", FORMATS, ids=lambda made: made.name)
def test_bad_batches_are_refused_as_apache_refuses_them(brokers: tuple[ApacheBroker, OurBroker], made: Format) -> None:
    found = differences(brokers, made)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 9])
def test_no_version_takes_a_transactional_batch_of_nobody(
    brokers: tuple[ApacheBroker, OurBroker], version: int
) -> None:
    """Kafka looks at the first batch only; in old versions there may be more."""
    codes = []
    record = Record(0, MADE_MS, b"key", b"value")
    data = bytes(build_batch([record], transactional=True, producer_id=7, producer_epoch=0, base_sequence=0))
    for broker in brokers:
        topic = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=data)])
        request = ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[topic])
        with RawClient(broker.bootstrap) as client:
            answer = client.send(PRODUCE_REQUEST, request, version)
        codes.append(answer.responses[0].partition_responses[0].error_code)
    assert codes == [NOT_AUTHORIZED, NOT_AUTHORIZED]


def test_what_is_excused_occurs(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    assert masks.needless(EXCUSES) == []
