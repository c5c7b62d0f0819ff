"""A rolling upgrade: Kafka 3.4 is the controller, whose AlterPartition ends at version 2, and our brokers follow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic
from kazoo.exceptions import NoNodeError

from tests.support.apache import ApacheBroker, classpath_of_kafka_3_4
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka, Written, take
from tests.support.processes import paused, wait_until
from tests.support.zookeeper import plain_client

APACHE, OURS, OURS_TOO = 1, 2, 3
SHARED = {
    # As the upgrade's documentation asks for while brokers of the older release are there.
    "inter.broker.protocol.version": "3.4",
    "replica.lag.time.max.ms": "1500",
    "replica.fetch.wait.max.ms": "100",
    "zookeeper.session.timeout.ms": "30000",
}
RECORDS = [Written(b"record %d" % number) for number in range(20)]


class Cluster:
    """One broker of 3.4, the controller, and two of ours."""

    def __init__(self, folder: Path, zookeeper_connect: str) -> None:
        self.apache = ApacheBroker(
            folder / "apache",
            zookeeper_connect,
            broker_id=APACHE,
            overrides=SHARED,
            class_path=classpath_of_kafka_3_4(),
        ).start()
        self.ours, self.follower = (
            OurBroker(folder / str(number), zookeeper_connect, broker_id=number, overrides=SHARED).start()
            for number in (OURS, OURS_TOO)
        )
        self.zk = plain_client(zookeeper_connect)
        self.clients = Librdkafka(f"{self.apache.bootstrap},{self.ours.bootstrap}")
        admin = self.clients.admin
        wait_until(lambda: len(admin.list_topics(timeout=PATIENCE_S).brokers) == 3, "all are registered")

    def create(self, topic: str, replicas: list[int]) -> None:
        made = self.clients.admin.create_topics([NewTopic(topic, 1, replica_assignment=[replicas])])
        made[topic].result(PATIENCE_S)
        self.wait_for_isr(topic, replicas)

    def wait_for_isr(self, topic: str, replicas: list[int]) -> None:
        """Read in ZooKeeper: a client may ask the very broker that is paused."""

        def isr() -> list[int]:
            try:
                state, _ = self.zk.get(f"/brokers/topics/{topic}/partitions/0/state")
            except NoNodeError:
                return []
            found: list[int] = json.loads(state)["isr"]
            return sorted(found)

        wait_until(lambda: isr() == sorted(replicas), f"{topic} is in sync at {replicas}")

    def stop(self) -> None:
        self.clients.close()
        self.zk.stop()
        self.zk.close()
        for broker in (self.follower, self.ours, self.apache):
            broker.kill()


@pytest.fixture
def cluster(tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    made = Cluster(tmp_path, zookeeper_connect)
    yield made
    made.stop()


def test_isr_changes_producer_ids_and_stops_go_through_a_controller_of_3_4(cluster: Cluster) -> None:
    cluster.create("led", [OURS, OURS_TOO])
    cluster.create("followed", [APACHE, OURS])
    for topic in ("led", "followed"):
        # An idempotent producer needs an id, whose block comes from the controller.
        cluster.clients.write(topic, RECORDS, enable_idempotence=True, acks="all")
    with paused(cluster.follower.process.pid):
        cluster.clients.write("led", RECORDS, acks="all")
        cluster.wait_for_isr("led", [OURS])
    cluster.wait_for_isr("led", [OURS, OURS_TOO])
    cluster.ours.stop()
    cluster.wait_for_isr("followed", [APACHE])
    cluster.ours.start()
    cluster.wait_for_isr("followed", [APACHE, OURS])
    consumer = cluster.clients.consumer()
    consumer.assign([TopicPartition("led", 0, 0)])
    assert [each.value() for each in take(consumer, 2 * len(RECORDS))] == [each.value for each in RECORDS * 2]
    assert "UnsupportedVersion" not in cluster.ours.process.output()
