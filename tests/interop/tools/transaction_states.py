"""A cluster of two brokers with transactions in every state, hanging ones too, for tools to look at and to end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from confluent_kafka import Producer

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import produce
from kafka_zk.protocol.types import TopicPartition
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.known_topics import wait_until_led
from tests.support.markers import wait_for_markers
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.unit.log.given import produced

Kind: TypeAlias = type[ApacheBroker | OurBroker]
CLUSTERS: dict[str, tuple[Kind, Kind]] = {
    "apache": (ApacheBroker, ApacheBroker),
    "ours": (OurBroker, OurBroker),
    "mixed": (OurBroker, ApacheBroker),
}
"""Two brokers, by the name of the case."""

CASES = ("apache", "mixed", pytest.param("ours", marks=pytest.mark.slow))

SETTINGS = {
    "transaction.partition.verification.enable": "false",
    "transactional.id.expiration.ms": "604800000",
}
"""Without verification a broker takes the records of a transaction that no coordinator knows."""

HOUR_MS = 3_600_000
HUNG_TOPICS = ("hung-1", "hung-2")
"""Alike: one for each tool to end what hangs there."""

TOPICS = {"orders": {0: [1], 1: [2], 2: [1]}, "quiet": {0: [2]}, **{name: {0: [1]} for name in HUNG_TOPICS}}
UNKNOWN_PRODUCER = 9_000_000_001


@contextmanager
def cluster(kinds: tuple[Kind, Kind], chroot: str, folder: Path) -> Iterator[dict[int, ApacheBroker | OurBroker]]:
    """Blocks. Two brokers, by id, with transactions in every state."""
    with ExitStack() as stack:
        brokers = {}
        for broker_id, kind in enumerate(kinds, 1):
            broker = kind(folder / f"broker-{broker_id}", chroot, broker_id=broker_id, overrides=SETTINGS)
            broker.folder.mkdir(parents=True)
            stack.callback(broker.stop)
            brokers[broker_id] = broker.start()
        open_ones = fill({broker_id: broker.bootstrap for broker_id, broker in brokers.items()})
        yield brokers
        del open_ones


def bootstrap_of(brokers: dict[int, ApacheBroker | OurBroker]) -> str:
    return ",".join(broker.bootstrap for broker in brokers.values())


def fill(bootstraps: dict[int, str]) -> list[Producer]:
    """Blocks. `bootstraps` by broker id. Returns the producers of transactions that stay open: keep them."""
    bootstrap = ",".join(bootstraps.values())
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        wait_until(lambda: len(admin.describe_cluster().nodes) == len(bootstraps), "the brokers know each other")
        # The records are old: they must stay all the same.
        admin.create_topics(
            [NewTopic(name, assignment=replicas, configs={"retention.ms": "-1"}) for name, replicas in TOPICS.items()]
        )
        for topic, replicas in TOPICS.items():
            wait_until_led(*bootstraps.values(), topics=(topic,), partitions=len(replicas))
        for transactional_id, end in (("committed", "commit_transaction"), ("aborted", "abort_transaction")):
            getattr(begun(bootstrap, transactional_id, TopicPartition("orders", 0)), end)(30)
        open_ones = [
            begun(bootstrap, "open", *(TopicPartition("orders", number) for number in range(3))),
            begun(bootstrap, "a-transactional-id-that-is-wider-than-its-heading", TopicPartition("quiet", 0)),
            initialized(bootstrap, "empty"),
        ]
        wait_for_markers(bootstrap)
        committed = admin.describe_transactions(["committed"])["committed"]
        assert not isinstance(committed, Exception), committed
    then_ms = time.time_ns() // 1_000_000 - HOUR_MS
    hang(bootstraps, TopicPartition("orders", 1), UNKNOWN_PRODUCER, 3, then_ms)
    hang(bootstraps, TopicPartition("orders", 2), committed.producer_id, committed.producer_epoch, then_ms)
    for topic in HUNG_TOPICS:
        for number in range(5):
            hang(bootstraps, TopicPartition(topic, 0), UNKNOWN_PRODUCER + 1 + number, number, then_ms)
    return open_ones


def initialized(bootstrap: str, transactional_id: str) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 900_000,
            "linger.ms": 0,
        }
    )
    producer.init_transactions(30)
    return producer


def begun(bootstrap: str, transactional_id: str, *partitions: TopicPartition) -> Producer:
    """A transaction with a record in each of `partitions`."""
    producer = initialized(bootstrap, transactional_id)
    producer.begin_transaction()
    for topic, number in partitions:
        producer.produce(topic, b"x", partition=number)
    assert producer.flush(30) == 0
    return producer


def hang(
    bootstraps: dict[int, str], partition: TopicPartition, producer_id: int, epoch: int, timestamp_ms: int
) -> None:
    """A batch of a transaction that no coordinator knows to be in that partition."""
    records = produced(
        "x", timestamp=timestamp_ms, producer_id=producer_id, epoch=epoch, sequence=0, transactional=True
    )
    data = produce.PartitionProduceData(index=partition.partition, records=records)
    request = produce.ProduceRequest(
        transactional_id="nobody",
        acks=1,
        timeout_ms=30_000,
        topic_data=[produce.TopicProduceData(name=partition.topic, partition_data=[data])],
    )
    leader = TOPICS[partition.topic][partition.partition][0]
    with RawClient(bootstraps[leader]) as client:
        answer = client.send(produce.PRODUCE_REQUEST, request, 9).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.NONE, answer
