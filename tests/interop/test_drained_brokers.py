"""kafka-reassign-partitions.sh --drain and --balance in a cluster of two Apache brokers (1, 2) and one of ours (3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.client import KafkaConsumer, KafkaProducer
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import ConfigResource, NewTopic, ResourceType
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.reassign_partitions import moves
from kafka_zk.tools.reassign_partitions.__main__ import main
from tests.interop.tools.runs import run_once
from tests.support.apache import ApacheBroker, ToolRun
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.znodes import wait_until_unregistered
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

pytestmark = pytest.mark.slow

TOPIC = "moved"
PARTITIONS = 12
RECORDS = 600
VALUE = "x" * 2000


class Cluster:
    """The three brokers, each with two log directories."""

    def __init__(self, folder: Path, zookeeper: str) -> None:
        self.brokers: dict[int, ApacheBroker | OurBroker] = {
            broker_id: make(
                folder / str(broker_id),
                zookeeper,
                broker_id=broker_id,
                overrides={"log.dirs": f"{folder}/{broker_id}/a,{folder}/{broker_id}/b"},
            )
            for broker_id, make in ((1, ApacheBroker), (2, ApacheBroker), (3, OurBroker))
        }

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def start(self) -> None:
        for broker in self.brokers.values():
            broker.launch()
        for broker in self.brokers.values():
            broker.wait_ready()
        with self.admin() as admin:
            wait_until(lambda: len(admin.describe_cluster().nodes) == 3, "all brokers are in the metadata")

    def run(self, *arguments: str) -> ToolRun:
        run = run_once(main, ["--bootstrap-server", self.bootstrap, *arguments, "--yes"])
        assert run.exit_code == 0, f"{run.stdout}\n{run.stderr}"
        return run

    def replicas(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Of every topic, as the brokers' metadata has them."""
        with self.admin() as admin:
            found = admin.describe_each_topic([topic.name for topic in admin.list_topics(internal=True)])
        return {
            TopicPartition(name, each.partition): tuple(each.replicas)
            for name, topic in found.items()
            if not isinstance(topic, Exception)
            for each in topic.partitions
        }

    def throttles(self) -> list[str]:
        names = {*moves.BROKER_THROTTLES, *moves.TOPIC_THROTTLES}
        resources = [ConfigResource(ResourceType.BROKER, str(each)) for each in self.brokers]
        with self.admin() as admin:
            return [
                f"{resource.name} {entry.name}={entry.value}"
                for resource in (*resources, ConfigResource(ResourceType.TOPIC, TOPIC))
                for entry in admin.describe_configs([resource])[resource]
                if entry.name in names and entry.source in (1, 2)
            ]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, zookeeper: ZooKeeperServer) -> Iterator[Cluster]:
    chroot = fresh_chroot(zookeeper, "drained")
    found = Cluster(tmp_path_factory.mktemp("drained"), chroot)
    found.start()
    yield found
    for broker in found.brokers.values():
        broker.stop()
    wait_until_unregistered(chroot)


def produce(bootstrap: str) -> None:
    text = {
        "bootstrap.servers": bootstrap,
        "key.serializer": "StringSerializer",
        "value.serializer": "StringSerializer",
    }
    with KafkaProducer({"bootstrap.servers": bootstrap} | text) as producer:
        sent = [producer.send(TOPIC, f"{number} {VALUE}", partition=number % PARTITIONS) for number in range(RECORDS)]
        for each in sent:
            each.result(30)


def consumed(bootstrap: str) -> list[int]:
    """The numbers of all records, sorted."""
    settings = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    text = {"key.deserializer": "StringDeserializer", "value.deserializer": "StringDeserializer"}
    found: list[int] = []
    with KafkaConsumer(settings | text) as consumer:
        consumer.assign([TopicPartition(TOPIC, index) for index in range(PARTITIONS)])
        wait_until(
            lambda: found.extend(int(each.value.split()[0]) for each in consumer.poll(1)) or len(found) >= RECORDS,
            "all records are read",
        )
    return sorted(found)


def test_brokers_of_both_kinds_are_drained_and_filled_again(cluster: Cluster) -> None:
    with cluster.admin() as admin:
        assignment = {index: [index % 3 + 1, (index + 1) % 3 + 1] for index in range(PARTITIONS)}
        admin.create_topics([NewTopic(TOPIC, assignment=assignment)])
    wait_until(lambda: len(cluster.replicas()) >= PARTITIONS, "the topic is in the metadata")
    produce(cluster.bootstrap)
    for drained, throttle in ((2, ()), (3, ("--throttle", "20000000"))):
        run = cluster.run("--drain", str(drained), *throttle, "--at-a-time", "5")
        assert run.stdout.endswith("Done.\n")
        wait_until(
            lambda drained=drained: all(drained not in each for each in cluster.replicas().values()),
            f"nothing is left on broker {drained}",
        )
        assert cluster.throttles() == []
        assert cluster.run("--drain", str(drained)).stdout.endswith("Nothing has to move.\n")
        assert consumed(cluster.bootstrap) == [*range(RECORDS)]
    run = cluster.run("--balance", "--throttle", "20000000")
    assert run.stdout.endswith("Done.\n")

    def is_level() -> bool:
        replicas = [each for partition, each in cluster.replicas().items() if partition.topic == TOPIC]
        return all(sum(broker in each for each in replicas) >= 6 for broker in cluster.brokers)

    wait_until(is_level, "each broker has its share")
    assert cluster.throttles() == []
    assert consumed(cluster.bootstrap) == [*range(RECORDS)]
    with cluster.admin() as admin:
        for directories in admin.describe_log_dirs([*cluster.brokers]).values():
            counts = [sum(each.topic == TOPIC for each in found.replicas) for found in directories.values()]
            assert min(counts) >= 1, "one directory got everything"
