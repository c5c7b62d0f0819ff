"""kafka-python, unmodified, on our broker; and what it writes librdkafka reads, and the other way round."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import KafkaError, MessageSizeTooLargeError, TopicAlreadyExistsError

from tests.support.broker import OurBroker
from tests.support.librdkafka import CODECS, PATIENCE_S, Librdkafka, Written, as_written
from tests.support.names import fresh
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

T0 = 1_700_000_000_000
SEED = 20261121
MEGABYTE = 1 << 20
SHAPES = [
    Written(b"value", b"key", timestamp_ms=T0),
    Written(None, b"deleted", timestamp_ms=T0 + 1),
    Written(b"no key", None, timestamp_ms=T0 - 5),
    Written(b"", b"", timestamp_ms=T0),
    Written(bytes(range(256)), bytes(range(255, -1, -1)), timestamp_ms=T0),
    Written(b"h", b"h", (("empty", b""), ("twice", b"1"), ("twice", bytes(range(256)))), T0),
    *(Written(b"some text " * 20, b"%d" % number, timestamp_ms=T0 + number) for number in range(300)),
]

WITH_A_NULL_HEADER = [*SHAPES, Written(b"h", b"h", (("null", None),), T0)]
"""kafka-python reads a header without a value, but does not write one."""


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("kafka-python"), fresh_chroot(zookeeper, "kafka-python")).start()
    yield running
    running.stop()
    assert " ERROR " not in running.process.output()


@pytest.fixture
def librdkafka(kafka: Librdkafka) -> Librdkafka:
    """Beside the clients of kafka-python those of librdkafka need their own name."""
    return kafka


class Python:
    """Clients of kafka-python, closed at the end."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._closes: list[Callable[[], object]] = []

    def close(self) -> None:
        while self._closes:
            self._closes.pop()()

    def producer(self, **settings: Any) -> KafkaProducer:
        return self._made(KafkaProducer(bootstrap_servers=self._bootstrap, **settings))

    def consumer(self, *topics: str, **settings: Any) -> KafkaConsumer:
        defaults = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "fetch_max_wait_ms": 100}
        return self._made(KafkaConsumer(*topics, bootstrap_servers=self._bootstrap, **{**defaults, **settings}))

    def admin(self) -> KafkaAdminClient:
        return self._made(KafkaAdminClient(bootstrap_servers=self._bootstrap))

    def _made(self, client: Any) -> Any:
        self._closes.append(client.close)
        return client

    def write(self, topic: str, records: list[Written], **settings: Any) -> list[int]:
        """Produce to partition 0 and wait for every acknowledgement; the offsets."""
        producer = self.producer(**settings)
        futures = [
            producer.send(
                topic,
                record.value,
                record.key,
                headers=list(record.headers),
                partition=0,
                timestamp_ms=record.timestamp_ms,
            )
            for record in records
        ]
        producer.flush(PATIENCE_S)
        return [future.get(PATIENCE_S).offset for future in futures]

    def read(self, topic: str, count: int, **settings: Any) -> list[Written]:
        """The first records of partition 0."""
        consumer = self.consumer(**settings)
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek_to_beginning()
        return [
            Written(record.value, record.key, tuple(record.headers), record.timestamp)
            for record in take(consumer, count)
        ]


def take(consumer: KafkaConsumer, count: int) -> list[Any]:
    """The next `count` records of a consumer of one partition."""
    found: list[Any] = []

    def enough() -> bool:
        for records in consumer.poll(200, max_records=count - len(found)).values():
            found.extend(records)
        return len(found) == count

    wait_until(enough, f"{count} records are read", PATIENCE_S)
    return found


@pytest.fixture
def python(broker: OurBroker) -> Iterator[Python]:
    clients = Python(broker.bootstrap)
    yield clients
    clients.close()


def codec(name: str) -> str | None:
    return None if name == "none" else name


@pytest.mark.parametrize("name", CODECS)
def test_what_kafka_python_writes_both_read(python: Python, librdkafka: Librdkafka, name: str) -> None:
    topic = librdkafka.topic()
    offsets = python.write(topic, SHAPES, compression_type=codec(name), linger_ms=20)
    assert offsets == list(range(len(SHAPES)))
    assert python.read(topic, len(SHAPES)) == SHAPES
    messages = librdkafka.read(topic, len(SHAPES))
    assert [as_written(message, with_timestamp=True) for message in messages] == SHAPES


@pytest.mark.parametrize("name", CODECS)
def test_what_librdkafka_writes_kafka_python_reads(python: Python, librdkafka: Librdkafka, name: str) -> None:
    topic = librdkafka.topic()
    librdkafka.write(topic, WITH_A_NULL_HEADER, compression_type=name, linger_ms=20)
    assert python.read(topic, len(WITH_A_NULL_HEADER)) == WITH_A_NULL_HEADER


@pytest.mark.parametrize("acks", [0, 1, "all"])
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_records_stay_in_order_whatever_the_acks(
    python: Python, librdkafka: Librdkafka, acks: int | str, idempotent: bool
) -> None:
    if idempotent and acks != "all":
        with pytest.raises(KafkaError):
            python.producer(acks=acks, enable_idempotence=True)
        return
    topic = librdkafka.topic()
    python.write(topic, SHAPES, acks=acks, enable_idempotence=idempotent)
    assert python.read(topic, len(SHAPES)) == SHAPES


def test_log_append_time_is_what_both_clients_are_told(python: Python, librdkafka: Librdkafka) -> None:
    topic = librdkafka.topic(message_timestamp_type="LogAppendTime")
    python.write(topic, SHAPES)
    stamped = [record.timestamp_ms for record in python.read(topic, len(SHAPES))]
    assert all(time_ms is not None and time_ms > T0 + MEGABYTE for time_ms in stamped)
    assert [message.timestamp()[1] for message in librdkafka.read(topic, len(SHAPES))] == stamped


def test_records_of_a_megabyte_and_twenty_thousand_tiny_ones_come_back(python: Python, librdkafka: Librdkafka) -> None:
    topic = librdkafka.topic(max_message_bytes=2 * MEGABYTE)
    chance = random.Random(SEED)
    records = [Written(chance.randbytes(MEGABYTE), timestamp_ms=T0) for _ in range(5)]
    python.write(topic, records, max_request_size=3 * MEGABYTE)
    assert python.read(topic, len(records), max_partition_fetch_bytes=MEGABYTE // 2) == records
    topic = librdkafka.topic()
    records = [Written(b"%d" % number, timestamp_ms=T0) for number in range(20_000)]
    python.write(topic, records, linger_ms=5)
    assert python.read(topic, len(records)) == records


def test_a_record_that_the_topic_does_not_allow_is_refused(python: Python, librdkafka: Librdkafka) -> None:
    topic = librdkafka.topic(max_message_bytes=1_000)
    with pytest.raises(MessageSizeTooLargeError):
        python.producer().send(topic, bytes(5_000)).get(PATIENCE_S)


def test_a_consumer_moves_to_offsets_and_times(python: Python, librdkafka: Librdkafka) -> None:
    topic = librdkafka.topic()
    python.write(topic, [Written(b"%d" % number, timestamp_ms=T0 + number) for number in range(50)])
    where = TopicPartition(topic, 0)
    consumer = python.consumer()
    consumer.assign([where])
    for offset in (40, 7):
        consumer.seek(where, offset)
        assert take(consumer, 1)[0].value == b"%d" % offset
    assert (consumer.beginning_offsets([where])[where], consumer.end_offsets([where])[where]) == (0, 50)
    found = consumer.offsets_for_times({where: T0 + 33})[where]
    assert (found.offset, found.timestamp) == (33, T0 + 33)
    consumer.pause(where)
    assert consumer.poll(300) == {}
    consumer.resume(where)
    assert take(consumer, 1)


def test_a_group_of_three_shares_commits_and_returns(python: Python, librdkafka: Librdkafka) -> None:
    topic = librdkafka.topic(partitions=6)
    for partition in range(6):
        librdkafka.write(topic, [Written(b"%d" % number) for number in range(20)], partition=partition)
    group = fresh("python")
    settings = {"group_id": group, "session_timeout_ms": 6_000, "heartbeat_interval_ms": 300}
    members = [python.consumer(topic, **settings) for _ in range(3)]
    seen: set[tuple[int, int]] = set()

    def all_is_shared_and_read() -> bool:
        for member in members:
            for records in member.poll(50).values():
                seen.update((record.partition, record.offset) for record in records)
        return len(seen) == 120 and [len(member.assignment()) for member in members] == [2, 2, 2]

    wait_until(all_is_shared_and_read, "three members share six partitions and read all", 60)
    for member in members:
        member.commit()
    for partition in range(6):
        assert members[0].committed(TopicPartition(topic, partition)) == 20
    admin = python.admin()
    assert group in str(admin.list_groups())
    python.close()
    (end,) = [python.consumer(group_id=group)]
    where = TopicPartition(topic, 0)
    end.assign([where])
    assert end.position(where) == 20
    end.commit({where: OffsetAndMetadata(5, "a note", -1)})
    assert (end.committed(where), end.committed(where, metadata=True).metadata) == (5, "a note")


def test_the_administrator_makes_grows_describes_and_deletes(python: Python, broker: OurBroker) -> None:
    admin, topic = python.admin(), fresh("administered")
    admin.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "1000000"})])
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(topic, 2, 1)])
    admin.create_partitions({topic: NewPartitions(4)})
    wait_until(lambda: len(admin.describe_topics([topic])[0]["partitions"]) == 4, "there are four partitions")
    told = str(admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))
    assert "retention.ms" in told and "1000000" in told
    assert str(broker.port) in str(admin.describe_cluster())
    assert topic in admin.list_topics()
    admin.delete_topics([topic])
    assert topic not in admin.list_topics()
