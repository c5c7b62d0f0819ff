"""A cluster of kafka_zk is moved to KRaft by Apache Kafka.

What our controller left in ZooKeeper and our brokers in their directories is all that Apache's migration needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.apache import ApacheBroker, java, run_tool
from tests.support.broker import OurBroker
from tests.support.librdkafka import take
from tests.support.processes import ChildProcess, free_port, wait_until
from tests.support.znodes import cluster_id

CONFIGS = "kafka.admin.ConfigCommand"
CONTROLLER_ID = 3_000
PARTITIONS = 4
RECORDS = [f"record {number}".encode() for number in range(200)]
SHARED = {"offsets.topic.replication.factor": "2", "inter.broker.protocol.version": "3.9"}
SETTINGS = (
    ("topics", "orders", "retention.ms=86400000"),
    ("brokers", "1", "log.cleaner.threads=2"),
    ("users", "alice", "producer_byte_rate=1048576"),
    ("users", "alice", "SCRAM-SHA-256=[iterations=4096,password=secret]"),
)
"""Entity, name and what is set."""


class KRaftController:
    """Apache's, which takes over from ZooKeeper."""

    def __init__(self, folder: Path, zookeeper: str, cluster_id: str) -> None:
        folder.mkdir()
        self.port = free_port()
        properties = folder / "controller.properties"
        settings = {
            "process.roles": "controller",
            "node.id": str(CONTROLLER_ID),
            "log.dirs": str(folder / "data"),
            "listeners": f"CONTROLLER://127.0.0.1:{self.port}",
            "zookeeper.connect": zookeeper,
            "zookeeper.metadata.migration.enable": "true",
            **self.quorum,
        }
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        done = run_tool("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(properties))
        assert done.exit_code == 0, done
        command = java("kafka.Kafka", str(properties), heap="384m", log_level="INFO")
        self.process = ChildProcess(command, folder / "controller.log")

    @property
    def quorum(self) -> Mapping[str, str]:
        return {
            "controller.quorum.voters": f"{CONTROLLER_ID}@127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        }


def bootstrap_of(brokers: Mapping[int, OurBroker | ApacheBroker]) -> str:
    return ",".join(broker.bootstrap for broker in brokers.values())


def wait_in_sync(admin: AdminClient) -> None:
    def is_so() -> bool:
        topics = admin.list_topics(timeout=10).topics
        return "orders" in topics and all(len(each.isrs) == 2 for each in topics["orders"].partitions.values())

    wait_until(is_so, "every replica is in sync")


def fill(bootstrap: str) -> None:
    """A topic with records in every partition, the position of a group, and settings of every kind."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wait_until(lambda: len(admin.list_topics(timeout=10).brokers) == 2, "both brokers are known")
    admin.create_topics([NewTopic("orders", PARTITIONS, 2)])["orders"].result(30)
    wait_in_sync(admin)
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for number, record in enumerate(RECORDS):
        producer.produce("orders", record, partition=number % PARTITIONS)
    assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "billing", "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition("orders", 0, 7)], asynchronous=False)
    consumer.close()
    for entity, name, setting in SETTINGS:
        entity_options = ("--entity-type", entity, "--entity-name", name)
        done = run_tool(CONFIGS, "--bootstrap-server", bootstrap, "--alter", *entity_options, "--add-config", setting)
        assert done.exit_code == 0, done


def described(bootstrap: str) -> list[str]:
    """What is set, in the words of Apache's tool."""
    found = []
    for entity, name, _ in SETTINGS:
        entity_options = ("--entity-type", entity, "--entity-name", name)
        found.append(run_tool(CONFIGS, "--bootstrap-server", bootstrap, "--describe", *entity_options).stdout)
    return found


def check(bootstrap: str) -> None:
    """All that `fill` wrote is there."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wait_in_sync(admin)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "billing", "enable.auto.commit": False})
    committed = consumer.committed([TopicPartition("orders", 0)], timeout=30)
    assert committed[0].offset == 7
    consumer.assign([TopicPartition("orders", index, 0) for index in range(PARTITIONS)])
    assert sorted(message.value() for message in take(consumer, len(RECORDS))) == sorted(RECORDS)
    consumer.close()


@pytest.mark.slow
def test_a_cluster_of_ours_is_taken_over_by_apache_and_moved_to_kraft(tmp_path: Path, zookeeper_connect: str) -> None:
    brokers: dict[int, OurBroker | ApacheBroker] = {
        broker_id: OurBroker(tmp_path / str(broker_id), zookeeper_connect, broker_id=broker_id, overrides=SHARED)
        for broker_id in (1, 2)
    }
    controller = None
    try:
        for broker in brokers.values():
            broker.start()
        fill(bootstrap_of(brokers))
        before = described(bootstrap_of(brokers))

        def restart(broker_id: int, settings: Mapping[str, str]) -> None:
            """As Apache's broker, on the same port and the same directory."""
            old = brokers[broker_id]
            listeners = {"listeners": f"PLAINTEXT://{old.bootstrap}"}
            old.stop()
            folder, overrides = tmp_path / str(broker_id), {**SHARED, **listeners, **settings}
            brokers[broker_id] = ApacheBroker(
                folder, zookeeper_connect, broker_id=broker_id, overrides=overrides
            ).start()
            wait_in_sync(AdminClient({"bootstrap.servers": bootstrap_of(brokers)}))

        # The cluster is left: there is no KRaft in kafka_zk.
        for broker_id in brokers:
            restart(broker_id, {})
        check(bootstrap_of(brokers))

        controller = KRaftController(tmp_path / "controller", zookeeper_connect, cluster_id(zookeeper_connect))
        controller.process.start()
        for broker_id in brokers:
            restart(broker_id, {**controller.quorum, "zookeeper.metadata.migration.enable": "true"})
        controller.process.says("Completed migration of metadata from ZooKeeper to KRaft")
        check(bootstrap_of(brokers))

        # Brokers of KRaft know ZooKeeper no longer.
        for broker_id in brokers:
            restart(broker_id, {**controller.quorum, "process.roles": "broker", "node.id": str(broker_id)})
        check(bootstrap_of(brokers))
        assert described(bootstrap_of(brokers)) == before
    finally:
        for broker in brokers.values():
            broker.kill()
        if controller is not None:
            controller.process.kill()
