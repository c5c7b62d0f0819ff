"""Our broker and an Apache Kafka 3.9.1 broker hold the same partitions, each leading and following the other.

Apache's broker starts first and is the controller: ours learns leadership from its requests alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until

OURS, APACHE = 1, 2


class MixedCluster:
    """Broker 1 is ours, broker 2 is Apache's and the controller."""

    def __init__(self, folder: Path, zookeeper: str) -> None:
        overrides = {"replica.lag.time.max.ms": "3000", "replica.fetch.wait.max.ms": "100"}
        self.apache = ApacheBroker(folder / "apache", zookeeper, broker_id=APACHE, overrides=overrides).start()
        self.ours = OurBroker(folder / "ours", zookeeper, broker_id=OURS, overrides=overrides).start()
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
        wait_until(lambda: sorted(self.admin.list_topics(timeout=60).brokers) == [OURS, APACHE], "both are registered")

    @property
    def bootstrap(self) -> str:
        return f"{self.ours.bootstrap},{self.apache.bootstrap}"

    def create(self, topic: str, replicas: list[int]) -> None:
        new = NewTopic(topic, num_partitions=1, replica_assignment=[replicas])
        self.admin.create_topics([new])[topic].result(30)
        wait_until(lambda: self.leader(topic) == replicas[0], "the first replica leads")

    def leader(self, topic: str) -> int | None:
        partition = self._partition(topic)
        return None if partition is None else partition.leader

    def isr(self, topic: str) -> list[int]:
        partition = self._partition(topic)
        return [] if partition is None else sorted(partition.isrs)

    def _partition(self, topic: str):
        try:
            return self.admin.list_topics(topic, timeout=10).topics[topic].partitions.get(0)
        except KafkaException:
            return None

    def produce(self, topic: str, values: list[bytes], **options: object) -> None:
        """With acks=all and idempotence; every record must be acknowledged."""
        outcomes: list[object] = []
        settings = {"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "linger.ms": 2}
        producer = Producer(settings | {name.replace("_", "."): value for name, value in options.items()})
        for value in values:
            producer.produce(topic, value, key=b"k", on_delivery=lambda error, _: outcomes.append(error))
        assert producer.flush(60) == 0
        assert outcomes == [None] * len(values)

    def read(self, topic: str, count: int) -> list[bytes]:
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "reader", "enable.auto.commit": False})
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[bytes] = []
        wait_until(
            lambda: found.extend(m.value() for m in consumer.consume(500, 1)) or len(found) >= count, "all is read"
        )
        consumer.close()
        return found

    def data(self, broker: ApacheBroker | OurBroker, topic: str) -> bytes:
        """What the partition's segment files hold, byte for byte."""
        folder = broker.log_dir / f"{topic}-0"
        return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))

    def indexes(self, broker: ApacheBroker | OurBroker, topic: str) -> dict[str, bytes]:
        """The entries in the partition's indexes, without the room behind them."""
        folder = broker.log_dir / f"{topic}-0"
        found = sorted((*folder.glob("*.index"), *folder.glob("*.timeindex")))
        return {path.name: path.read_bytes().rstrip(b"\0") for path in found}

    def wait_for_equal_indexes(self, topic: str) -> None:
        wait_until(lambda: self.data(self.ours, topic) == self.data(self.apache, topic), "equal bytes")
        wait_until(lambda: self.indexes(self.ours, topic) == self.indexes(self.apache, topic), "equal indexes")
        assert len(self.indexes(self.ours, topic)[f"{0:020d}.index"]) > 20 * 8

    def stop(self) -> None:
        self.ours.kill()
        self.apache.kill()


@pytest.fixture
def cluster(tmp_path: Path, zookeeper_connect: str) -> Iterator[MixedCluster]:
    made = MixedCluster(tmp_path, zookeeper_connect)
    yield made
    made.stop()


def values(start: int, count: int = 300) -> list[bytes]:
    return [f"record {number}".encode() * 5 for number in range(start, start + count)]


def test_our_broker_serves_a_topic_that_apaches_controller_gave_to_it_alone(cluster: MixedCluster) -> None:
    cluster.create("solo", [OURS])
    cluster.produce("solo", values(0))
    assert cluster.read("solo", 300) == values(0)


def test_ours_follows_apache_takes_over_and_is_followed(cluster: MixedCluster) -> None:
    cluster.create("both", [APACHE, OURS])
    cluster.produce("both", values(0))
    wait_until(lambda: cluster.isr("both") == [OURS, APACHE], "both are in sync")
    wait_until(lambda: cluster.data(cluster.ours, "both") == cluster.data(cluster.apache, "both"), "equal bytes")

    cluster.create("fetched-at-once", [OURS, APACHE])
    cluster.apache.stop()
    wait_until(lambda: cluster.leader("both") == OURS, "ours leads")
    cluster.produce("both", values(300))
    cluster.produce("fetched-at-once", values(0, 1000), batch_num_messages=1)
    assert cluster.read("both", 600) == values(0, 600)

    cluster.apache.start()
    wait_until(lambda: cluster.isr("both") == [OURS, APACHE], "Apache's broker is in sync again")
    cluster.wait_for_equal_indexes("fetched-at-once")
    cluster.produce("both", values(600))
    wait_until(lambda: cluster.data(cluster.ours, "both") == cluster.data(cluster.apache, "both"), "equal bytes")
    assert cluster.read("both", 900) == values(0, 900)


def test_a_killed_leader_comes_back_as_a_follower_with_the_same_history(cluster: MixedCluster) -> None:
    cluster.create("led", [OURS, APACHE])
    cluster.create("fetched-at-once", [APACHE, OURS])
    cluster.produce("led", values(0))
    cluster.ours.kill()
    wait_until(lambda: cluster.leader("led") == APACHE, "Apache's broker leads")
    cluster.produce("led", values(300))
    cluster.produce("fetched-at-once", values(0, 1000), batch_num_messages=1)
    cluster.ours.start()
    wait_until(lambda: cluster.isr("led") == [OURS, APACHE], "ours is in sync again")
    cluster.wait_for_equal_indexes("fetched-at-once")
    wait_until(lambda: cluster.data(cluster.ours, "led") == cluster.data(cluster.apache, "led"), "equal bytes")
    assert cluster.read("led", 600) == values(0, 600)
