"""The end of a consumer in a group: what a listener may do while it is closed, Java's consumer and ours alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.protocol.types import TopicPartition
from tests.interop.replay.scenario import World
from tests.support.allowed import allowed
from tests.support.apache import ApacheBroker, run_tool
from tests.support.broker import OurBroker
from tests.support.our_consumer import poll_until, settings
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PROGRAM = Path(__file__).parent / "java" / "Closing.java"
TOPIC, P0 = "closing", TopicPartition("closing", 0)
WAYS = ("sync", "async", "wakeup", "position", "again", "fails")
DELIBERATE = {
    allowed("callbacks-in-close"): {"async": ("revoked, closed", "revoked, committed null, closed")},
    allowed("close-in-close"): {"again": ("revoked, revoked, closed", "revoked, closed")},
    allowed("listeners-that-fail"): {"fails": ("revoked, KafkaException", "revoked, ValueError")},
}
"""Ways in which Java's consumer and ours differ: what each heard."""
OFFSETS = {P0: OffsetAndMetadata(2)}


@pytest.fixture(scope="module", params=[ApacheBroker, OurBroker])
def broker(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApacheBroker | OurBroker]:
    broker = request.param(tmp_path_factory.mktemp("closing"), fresh_chroot(zookeeper, "closing")).start()
    World(broker.bootstrap).wait_until_known()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(3):
        producer.produce(TOPIC, str(number))
    assert producer.flush(30) == 0
    yield broker
    broker.stop()


class Closed(ConsumerRebalanceListener):
    """What the listener of Closing.java does, and hears."""

    def __init__(self, consumer: KafkaConsumer, way: str) -> None:
        self.consumer, self.way = consumer, way
        self.heard: list[str] = []

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.heard.append("revoked")
        if self.way == "wakeup":
            self.consumer.wakeup()
        if self.way == "fails":
            raise ValueError("of the program")
        if self.way == "async":
            self.consumer.commit_async(OFFSETS, lambda _, error: self.heard.append(f"committed {error or 'null'}"))
        elif self.way == "position":
            self.heard.append(f"position {self.consumer.position(P0)}")
        else:
            self.consumer.commit_sync(OFFSETS)
        if self.way == "again" and len(self.heard) == 1:
            self.consumer.close()


def close_ours(bootstrap: str, way: str) -> str:
    consumer = KafkaConsumer(settings(bootstrap, group_id=f"ours-{way}"))
    listener = Closed(consumer, way)
    consumer.subscribe([TOPIC], listener)
    poll_until([consumer], lambda: consumer.assignment() == {P0} and consumer.position(P0) == 3)
    try:
        consumer.close()
        listener.heard.append("closed")
    except ValueError as error:
        listener.heard.append(type(error).__name__)
    return ", ".join(listener.heard)


def left(bootstrap: str, kind: str) -> dict[str, tuple[str, list[int]]]:
    """The state of each group, and what it has committed."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = {way: f"{kind}-{way}" for way in WAYS}
    described = admin.describe_consumer_groups(list(names.values()))
    found = {}
    for way, name in names.items():
        request = [confluent_kafka.ConsumerGroupTopicPartitions(name)]
        offsets = admin.list_consumer_group_offsets(request)[name].result(30).topic_partitions
        found[way] = described[name].result(30).state.name, [each.offset for each in offsets]
    return found


def test_a_listener_may_do_what_it_may_in_java(broker: ApacheBroker | OurBroker) -> None:
    ran = run_tool(str(PROGRAM), broker.bootstrap, TOPIC, *WAYS)
    assert ran.exit_code == 0, ran.stderr
    theirs = dict(line.split(" ", 1) for line in ran.stdout.splitlines())
    ours = {way: close_ours(broker.bootstrap, way) for way in WAYS}
    assert {way: (theirs[way], ours[way]) for way in WAYS if ours[way] != theirs[way]} == {
        way: differing for rows in DELIBERATE.values() for way, differing in rows.items()
    }
    behind = {kind: left(broker.bootstrap, kind) for kind in ("java", "ours")}
    assert (behind["java"].pop("fails"), behind["ours"].pop("fails")) == (("STABLE", []), ("EMPTY", []))
    assert behind["ours"] == behind["java"]
    assert behind["java"]["sync"] == ("EMPTY", [2])
