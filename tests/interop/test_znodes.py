"""The same life of a cluster with an Apache broker and with ours: ZooKeeper holds the same tree afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.support import masks
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.znode_tree import DIFFERENT_BY_NATURE, Znode, znode_tree
from tests.support.znodes import looking_at, set_topic_config
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

Broker = ApacheBroker | OurBroker


def live(broker: Broker, connect: str, look: Callable[[str], None]) -> None:
    """Topics made with and without configs, widened, reconfigured and deleted; a producer with an id; a group."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    wait_until(lambda: admin.list_topics(timeout=60).brokers, "the broker knows itself")
    look("started")

    topics = [
        NewTopic("flights", 3, 1, config={"retention.ms": "86400000", "cleanup.policy": "delete,compact"}),
        NewTopic("planes", 1, 1),
        NewTopic("weather", 1, 1, config={"segment.bytes": "1048576"}),
    ]
    for done in admin.create_topics(topics).values():
        done.result(30)
    for done in admin.create_partitions([NewPartitions("planes", 2)]).values():
        done.result(30)
    wait_until(lambda: len(partitions_with_state(connect, "planes")) == 2, "the new partition has a leader")
    look("topics created")

    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    producer.produce("planes", b"N14228", partition=0)
    assert producer.flush(30) == 0
    read_with_group(broker)
    wait_until(lambda: len(partitions_with_state(connect, "__consumer_offsets")) == 3, "the offsets' topic is there")
    look("produced and consumed")

    for done in admin.delete_topics(["weather"]).values():
        done.result(30)
    wait_until(lambda: is_gone(connect, "weather"), "the topic is deleted")
    set_topic_config(connect, "planes", {"retention.bytes": "1000000"})
    look("one topic deleted, another reconfigured")


def read_with_group(broker: Broker) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["planes"])
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        consumer.commit(message, asynchronous=False)
    finally:
        consumer.close()


def partitions_with_state(connect: str, topic: str) -> list[str]:
    with looking_at(connect) as client:
        path = f"/brokers/topics/{topic}/partitions"
        if not client.exists(path):
            return []
        return [each for each in client.get_children(path) if client.exists(f"{path}/{each}/state")]


def is_gone(connect: str, topic: str) -> bool:
    paths = (f"/brokers/topics/{topic}", f"/admin/delete_topics/{topic}", f"/config/topics/{topic}")
    with looking_at(connect) as client:
        return not any(client.exists(path) for path in paths)


def history(broker: Broker, connect: str) -> dict[str, dict[str, Znode]]:
    """The tree at every stage of a broker's life, and after its end."""
    stages: dict[str, dict[str, Znode]] = {}

    def look(stage: str) -> None:
        with looking_at(connect) as client:
            stages[stage] = znode_tree(client)

    broker.start()
    try:
        live(broker, connect, look)
    finally:
        broker.stop()
    look("stopped")
    return stages


@pytest.fixture(scope="module")
def both(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, dict[str, Znode]], dict[str, dict[str, Znode]]]:
    def one(name: str, kind: type[ApacheBroker] | type[OurBroker]) -> dict[str, dict[str, Znode]]:
        folder: Path = tmp_path_factory.mktemp(name)
        connect = fresh_chroot(zookeeper, name)
        return history(kind(folder, connect), connect)

    return one("apache", ApacheBroker), one("ours", OurBroker)


@pytest.mark.parametrize(
    "stage",
    [
        "started",
        "topics created",
        "produced and consumed",
        "one topic deleted, another reconfigured",
        "stopped",
    ],
)
def test_zookeeper_holds_what_apache_would_have_written(
    both: tuple[dict[str, dict[str, Znode]], dict[str, dict[str, Znode]]], stage: str
) -> None:
    apache, ours = both[0][stage], both[1][stage]
    assert len(apache) > 20
    assert ours == apache


def test_what_is_masked_occurs(pytestconfig: pytest.Config) -> None:
    masks.skip_unless_whole(pytestconfig)
    assert masks.needless(DIFFERENT_BY_NATURE) == []
