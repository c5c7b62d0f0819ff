"""kill -9 while topics are made and deleted: each is whole or gone after the restart; committed offsets stay."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_zk.protocol.errors import ErrorCode
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient

ROUNDS = 3
TOPICS = [f"t{number}" for number in range(8)]
SETTLED = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path, zookeeper_connect, overrides={"log.segment.delete.delay.ms": "50"}).start()
    yield running
    running.kill()


class Life:
    """What one client did to the topics, and what it was promised."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.records: dict[str, dict[int, bytes]] = {}
        """The acknowledged records of partition 0 of the topics that are promised to be there."""
        self.unsure: str | None = None
        """The topic whose making or deletion was not answered."""

    def live(self, client: RawClient) -> None:
        """Until the broker dies: ConnectionClosed, OSError."""
        wire.wait_for_brokers(client)
        while True:
            topic = self._chance.choice(TOPICS)
            happening = self._chance.random()
            if happening < 0.3:
                self._make(client, topic)
            elif happening < 0.45:
                self._delete(client, topic)
            elif topic in self.records:
                self._write(client, topic)

    def _make(self, client: RawClient, topic: str) -> None:
        self.unsure = topic
        code, message = wire.try_create_topic(client, topic, self._chance.randrange(1, 4))
        assert code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), message
        if code is ErrorCode.NONE:
            self.records[topic] = {}
        self.unsure = None

    def _delete(self, client: RawClient, topic: str) -> None:
        self.unsure = topic
        assert wire.delete_topic(client, topic) in SETTLED
        self.records.pop(topic, None)
        self.unsure = None

    def _write(self, client: RawClient, topic: str) -> None:
        value = self._chance.randbytes(8)
        wire.wait_for_topic(client, topic)
        self.records[topic][wire.write(client, topic, [value], acks=-1)] = value

    def check(self, client: RawClient) -> None:
        """Everything that was promised is so."""
        wire.wait_for_brokers(client)
        if self.unsure is not None:
            self._settle(client, self.unsure)
        for topic in TOPICS:
            if topic in self.records:
                wire.wait_for_topic(client, topic)
                found = {record.offset: record.value for record in wire.read(client, topic)}
                assert found.items() >= self.records[topic].items()
            else:
                wire.wait_for_topic(client, topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _settle(self, client: RawClient, topic: str) -> None:
        """An unanswered wish was fulfilled or not, and from then on it stays so: making it (again) tells."""
        self.unsure = None
        wait_until(lambda: wire.topic_error(client, topic) in SETTLED, "the topic is there or not")
        if topic in self.records:
            # Its deletion may have begun.
            del self.records[topic]
            wait_until(lambda: wire.delete_topic(client, topic) is not ErrorCode.NONE, "the topic is deleted")
        else:
            wait_until(lambda: is_made(client, topic), "the topic is made")
            self.records[topic] = {}


def is_made(client: RawClient, topic: str) -> bool:
    """Whether a topic is there, made now or before, and not about to go."""
    code, message = wire.try_create_topic(client, topic)
    return code is ErrorCode.NONE or "marked for deletion" not in (message or "")


def test_topics_made_and_deleted_around_kills_are_whole_or_gone(broker: OurBroker, chance: random.Random) -> None:
    life = Life(chance)
    for _ in range(ROUNDS):
        killer = threading.Timer(chance.uniform(0.1, 1.0), broker.kill)
        killer.start()
        with pytest.raises((ConnectionClosed, OSError)), RawClient(broker.bootstrap) as client:
            life.live(client)
        killer.join()
        broker.start()
        with RawClient(broker.bootstrap) as client:
            life.check(client)
    kept = {directory.name.rpartition("-")[0] for directory in broker.log_dir.iterdir() if directory.is_dir()}
    wait_until(lambda: not list(broker.log_dir.glob("*-delete")), "what was deleted is removed")
    assert kept >= life.records.keys()
    assert broker.stop() == 143
    said = broker.process.output() + (broker.folder / "logs" / "controller.log").read_text()
    assert "Traceback" not in said


def test_offsets_whose_commit_was_acknowledged_survive_kills(broker: OurBroker, chance: random.Random) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, "read")
    committed = 0
    for _ in range(ROUNDS):
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "readers",
                "enable.auto.commit": False,
                "log_level": 0,
                "broker.address.family": "v4",
            }
        )
        (found,) = consumer.committed([TopicPartition("read", 0)], timeout=30)
        assert max(found.offset, 0) == committed
        for _ in range(chance.randrange(1, 50)):
            committed += 1
            consumer.commit(offsets=[TopicPartition("read", 0, committed)], asynchronous=False)
        broker.kill()
        consumer.close()
        broker.start()
