"""Real consumers with a group id on one broker: they share the work, keep their place, and see who comes and goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.replay.scenario import World
from tests.support.broker import OurBroker
from tests.support.processes import wait_until

PARTITIONS = 6
RECORDS = 600


@pytest.fixture
def broker(zookeeper_connect: str, tmp_path: Path) -> Iterator[OurBroker]:
    made = OurBroker(tmp_path / "broker", zookeeper_connect).start()
    World(made.bootstrap).wait_until_known()
    yield made
    made.stop()


@pytest.fixture
def topic(broker: OurBroker) -> str:
    """A topic with RECORDS records, spread over its partitions."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic("flights", PARTITIONS, 1)])["flights"].result(30)
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "acks": "all"})
    for number in range(RECORDS):
        producer.produce("flights", str(number), partition=number % PARTITIONS)
    assert producer.flush(30) == 0
    return "flights"


def librdkafka(broker: OurBroker, group: str = "g", **settings: object) -> confluent_kafka.Consumer:
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
            **settings,
        }
    )


def read(consumers: list[confluent_kafka.Consumer], until: Callable[[], bool], seen: set[str]) -> None:
    """Poll all in turn; what they read goes into `seen`."""
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline, f"{len(seen)} records, {[len(each.assignment()) for each in consumers]}"
        for consumer in consumers:
            message = consumer.poll(0.01)
            if message is not None:
                assert message.error() is None, message.error()
                seen.add(message.value().decode())


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_two_consumers_share_the_partitions_and_miss_nothing(broker: OurBroker, topic: str, strategy: str) -> None:
    consumers = [librdkafka(broker, **{"partition.assignment.strategy": strategy}) for _ in range(2)]
    for consumer in consumers:
        consumer.subscribe([topic])
    seen: set[str] = set()

    def all_is_read_and_shared() -> bool:
        shares = sorted(len(consumer.assignment()) for consumer in consumers)
        return len(seen) == RECORDS and shares == [PARTITIONS // 2] * 2

    read(consumers, all_is_read_and_shared, seen)
    parts = [{p.partition for p in consumer.assignment()} for consumer in consumers]
    assert parts[0] | parts[1] == set(range(PARTITIONS)) and not parts[0] & parts[1]
    for consumer in consumers:
        consumer.close()


def test_a_group_goes_on_where_it_committed_also_after_the_broker_was_killed(broker: OurBroker, topic: str) -> None:
    first = librdkafka(broker)
    first.subscribe([topic])
    seen: set[str] = set()
    read([first], lambda: len(seen) == RECORDS, seen)
    first.commit(asynchronous=False)
    first.close()
    broker.kill()
    broker.start()
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "acks": "all"})
    producer.produce(topic, "one more", partition=0)
    assert producer.flush(30) == 0
    second = librdkafka(broker)
    second.subscribe([topic])
    later: set[str] = set()
    read([second], lambda: bool(later), later)
    assert later == {"one more"}
    positions = second.committed([confluent_kafka.TopicPartition(topic, p) for p in range(PARTITIONS)], timeout=30)
    assert [position.offset for position in positions] == [RECORDS // PARTITIONS] * PARTITIONS
    second.close()


def test_the_work_of_a_member_that_leaves_goes_to_the_other(broker: OurBroker, topic: str) -> None:
    stays, goes = librdkafka(broker), librdkafka(broker)
    for consumer in (stays, goes):
        consumer.subscribe([topic])

    def assigned(*counts: int) -> bool:
        for consumer in (stays, goes)[: len(counts)]:
            consumer.poll(0.1)
        return [len(consumer.assignment()) for consumer in (stays, goes)[: len(counts)]] == list(counts)

    wait_until(lambda: assigned(PARTITIONS // 2, PARTITIONS // 2), "both have half")
    goes.close()
    wait_until(lambda: assigned(PARTITIONS), "one has all")
    stays.close()


def test_a_restarted_static_member_gets_its_partitions_back_without_a_rebalance(broker: OurBroker, topic: str) -> None:
    rebalances: list[str] = []

    def member(instance: str) -> confluent_kafka.Consumer:
        made = librdkafka(broker, **{"group.instance.id": instance})
        made.subscribe([topic], on_revoke=lambda *_: rebalances.append(instance))
        return made

    stays, restarts = member("stays"), member("restarts")

    def both() -> bool:
        stays.poll(0.1), restarts.poll(0.1)
        return [len(stays.assignment()), len(restarts.assignment())] == [PARTITIONS // 2] * 2

    wait_until(both, "both have half")
    before = {p.partition for p in restarts.assignment()}
    restarts.close()
    rebalances.clear()
    restarts = member("restarts")
    wait_until(both, "both have half again")
    assert {p.partition for p in restarts.assignment()} == before
    assert "stays" not in rebalances
    stays.close()
    restarts.close()


def test_kafka_python_consumes_commits_and_comes_back(broker: OurBroker, topic: str) -> None:
    def consumer() -> kafka.KafkaConsumer:
        return kafka.KafkaConsumer(
            topic,
            bootstrap_servers=broker.bootstrap,
            group_id="python",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=60_000,
        )

    first = consumer()
    seen = set()
    for message in first:
        seen.add(message.value)
        if len(seen) == RECORDS:
            break
    assert len(seen) == RECORDS
    first.commit()
    first.close()
    second = consumer()
    second.poll(timeout_ms=2_000)
    committed = [second.committed(kafka.TopicPartition(topic, index)) for index in range(PARTITIONS)]
    assert committed == [RECORDS // PARTITIONS] * PARTITIONS
    second.close()


def test_administrators_see_and_delete_groups(broker: OurBroker, topic: str) -> None:
    consumer = librdkafka(broker, "described")
    consumer.subscribe([topic])
    wait_until(lambda: consumer.poll(0.1) is not None, "the first record is read")
    consumer.commit(asynchronous=False)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    described = admin.describe_consumer_groups(["described"])["described"].result(30)
    assert described.state.name == "STABLE" and len(described.members) == 1
    assert len(described.members[0].assignment.topic_partitions) == PARTITIONS
    assert "described" in {group.group_id for group in admin.list_consumer_groups().result(30).valid}
    consumer.close()
    assert admin.delete_consumer_groups(["described"])["described"].result(30) is None
    assert "described" not in {group.group_id for group in admin.list_consumer_groups().result(30).valid}
