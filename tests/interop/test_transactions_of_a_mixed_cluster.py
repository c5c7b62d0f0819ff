"""Transactions in a cluster of both brokers: whoever coordinates them, both end them alike in what they lead."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition

from tests.interop.test_cluster_with_apache import APACHE, OURS, Cluster
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S
from tests.support.markers import wait_for_markers
from tests.support.zookeeper import eventually

TOPIC = "of-both"
LED_BY = (OURS, APACHE)
"""The leader of each partition."""
SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "1",
}


def with_settings(kind: type[Any], *args: Any, overrides: dict[str, str], **others: Any) -> Any:
    return kind(*args, overrides={**overrides, **SETTINGS}, **others)


@pytest.fixture(params=[APACHE, OURS], ids=["apache-coordinates", "we-coordinate"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    made = Cluster(
        tmp_path,
        zookeeper_connect,
        controller=APACHE,
        apache=partial(with_settings, ApacheBroker),
        ours=partial(with_settings, OurBroker),
    )
    # We lead what the groups commit; the transactions are kept by one broker only.
    made.create("__transaction_state", [[request.param]], cleanup_policy="compact")
    made.create("__consumer_offsets", [[OURS, APACHE]], cleanup_policy="compact")
    made.create(TOPIC, [[leader, OURS + APACHE - leader] for leader in LED_BY], min_insync_replicas="1")
    yield made
    made.close()


def both(cluster: Cluster) -> str:
    return ",".join(broker.bootstrap for broker in cluster.brokers.values())


def producer(cluster: Cluster, **settings: object) -> Producer:
    made: Producer = cluster.clients[APACHE].producer(
        bootstrap_servers=both(cluster), transactional_id="tx", transaction_timeout_ms=60_000, **settings
    )
    made.init_transactions(PATIENCE_S)
    return made


def write(made: Producer, value: bytes) -> None:
    for index in range(len(LED_BY)):
        made.produce(TOPIC, value, partition=index)
    made.flush(PATIENCE_S)


def committed_values(cluster: Cluster, count: int, index: int, via: int) -> list[bytes | None]:
    messages = cluster.clients[via].read(TOPIC, count, partition=index, isolation_level="read_committed")
    return [message.value() for message in messages]


def files(cluster: Cluster, broker_id: int, topic: str, index: int, suffix: str) -> bytes:
    folder = cluster.brokers[broker_id].log_dir / f"{topic}-{index}"
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"*{suffix}")))


def check_replicas_are_equal(cluster: Cluster, *others: tuple[str, int]) -> None:
    """Logs and indexes of aborted transactions, byte by byte; of the topic, and of `others`."""
    for topic, index in ((TOPIC, 0), (TOPIC, 1), *others):
        for suffix in (".log", ".txnindex"):
            eventually(
                lambda: len({files(cluster, each, topic, index, suffix) for each in (APACHE, OURS)}) == 1,  # noqa: B023
                60,
            )
    assert files(cluster, OURS, TOPIC, 0, ".txnindex")


def test_commits_and_aborts_are_the_same_to_readers_of_either_broker(cluster: Cluster) -> None:
    made = producer(cluster)
    consumer = cluster.clients[OURS].consumer(group_id="copies")
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    for number in range(8):
        made.begin_transaction()
        write(made, b"%d" % number)
        offsets = [TopicPartition(TOPIC, 0, number)]
        made.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE_S)
        if number % 2:
            made.abort_transaction(PATIENCE_S)
        else:
            made.commit_transaction(PATIENCE_S)
    for via in (APACHE, OURS):
        for index in range(len(LED_BY)):
            assert committed_values(cluster, 4, index, via) == [b"0", b"2", b"4", b"6"]
    wait_for_markers(both(cluster))
    # The coordinator of the group reads its marker a little later.
    partition = TopicPartition(TOPIC, 0)
    eventually(lambda: [each.offset for each in consumer.committed([partition], PATIENCE_S)] == [6])
    check_replicas_are_equal(cluster, ("__consumer_offsets", 0))


def test_a_transaction_outlives_the_leaders_that_are_killed(cluster: Cluster) -> None:
    made = producer(cluster)
    for number in range(3):
        made.begin_transaction()
        write(made, b"before %d" % number)
        cluster.brokers[OURS].kill()
        cluster.brokers[OURS].start()
        for index in range(len(LED_BY)):
            eventually(lambda: cluster.state(TOPIC, index)[1] == {APACHE, OURS}, 60)  # noqa: B023
        write(made, b"after %d" % number)
        if number == 1:
            made.abort_transaction(PATIENCE_S)
        else:
            made.commit_transaction(PATIENCE_S)
    expected = [b"before 0", b"after 0", b"before 2", b"after 2"]
    for via in (APACHE, OURS):
        for index in range(len(LED_BY)):
            assert committed_values(cluster, 4, index, via) == expected
    check_replicas_are_equal(cluster)
