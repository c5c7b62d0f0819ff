"""One broker for the tests of our consumer, and topics of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.replay.scenario import World
from tests.support.broker import OurBroker
from tests.support.our_consumer import Consumers
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PARTITIONS = 4
FLUSH_PATIENCE_S = 120
_numbers = itertools.count()

MakeTopic = Callable[..., str]


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    made = OurBroker(
        tmp_path_factory.mktemp("consumer") / "broker",
        fresh_chroot(zookeeper, "consumer"),
        overrides={"group.min.session.timeout.ms": "1000"},
    ).start()
    World(made.bootstrap).wait_until_known()
    yield made
    made.stop()


@pytest.fixture
def topic(broker: OurBroker) -> MakeTopic:
    """Makes a topic with so many records, their numbers, in turn in its partitions."""

    def make(records: int = 0, partitions: int = PARTITIONS, name: str | None = None) -> str:
        name = name or f"topic-{next(_numbers)}"
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        produce(broker, name, range(records), partitions)
        return name

    return make


def produce(broker: OurBroker, topic: str, numbers: range, partitions: int = PARTITIONS) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "acks": "all"})
    for number in numbers:
        producer.produce(topic, str(number), key=b"k", partition=number % partitions)
    left = producer.flush(FLUSH_PATIENCE_S)
    assert left == 0, f"{left} records are not taken\n{broker.process.output()[-3000:]}"


@pytest.fixture
def consumers(broker: OurBroker) -> Iterator[Consumers]:
    with Consumers(broker.bootstrap) as made:
        yield made
