"""Our producer on our broker: what it was given is there, once and in order, whatever happens in between."""

from __future__ import annotations

import contextlib
import inspect
import io
import random
import re
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.client.addresses import bootstrap_addresses
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.network.metadata import ClusterMetadata
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.network.settings import metadata_settings, network_settings
from kafka_zk.client.producer.futures import RecordFuture
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.protocol.types import TopicPartition
from tests.support.broker import OurBroker
from tests.support.librdkafka import CODECS, PATIENCE_S, Librdkafka, Written, as_written
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

T0 = 1_700_000_000_000
SHAPES = [
    Written(b"value", b"key", timestamp_ms=T0),
    Written(None, b"deleted", timestamp_ms=T0 + 1),
    Written(b"no key", None, timestamp_ms=T0 - 5),
    Written(b"", b"", timestamp_ms=T0),
    Written(b"h", b"h", (("empty", b""), ("null", None), ("twice", b"1"), ("twice", bytes(range(256)))), T0),
    *(Written(b"some text " * 20, b"%d" % number, timestamp_ms=T0 + number) for number in range(300)),
]


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("producer"), fresh_chroot(zookeeper, "producer")).start()
    yield running
    running.stop()


def producer_of(broker: OurBroker, **changes: object) -> KafkaProducer:
    config: dict[str, object] = {
        "bootstrap.servers": broker.bootstrap,
        "key.serializer": "ByteArraySerializer",
        "value.serializer": "ByteArraySerializer",
    }
    return KafkaProducer({**config, **{name.replace("_", "."): value for name, value in changes.items()}})


def send(producer: KafkaProducer, topic: str, record: Written, **more: Any) -> RecordFuture:
    return producer.send(
        topic, record.value, record.key, timestamp_ms=record.timestamp_ms, headers=record.headers, **more
    )


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("acks", ["all", "1"])
def test_librdkafka_reads_what_we_wrote(broker: OurBroker, kafka: Librdkafka, codec: str, acks: str) -> None:
    topic = kafka.topic()
    with producer_of(broker, compression_type=codec, acks=acks, linger_ms=5) as producer:
        futures = [send(producer, topic, record) for record in SHAPES]
        assert [future.result(PATIENCE_S).offset for future in futures] == list(range(len(SHAPES)))
    read = kafka.read(topic, len(SHAPES))
    assert [as_written(message, with_timestamp=True) for message in read] == SHAPES


def test_keys_go_where_librdkafka_with_murmur2_sends_them(broker: OurBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic(7)
    keyed = [Written(b"", b"key-%d" % number) for number in range(200)]
    theirs = {message.key(): message.partition() for message in kafka.write(topic, keyed, partitioner="murmur2")}
    with producer_of(broker) as producer:
        ours = {record.key: send(producer, topic, record).result(PATIENCE_S).partition for record in keyed}
    assert ours == theirs


def test_without_keys_every_partition_gets_its_share(broker: OurBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic(4)
    with producer_of(broker, batch_size=1000) as producer:
        futures = [producer.send(topic, b"x" * 100) for _ in range(4000)]
        producer.flush(PATIENCE_S)
    counts = [0] * 4
    for future in futures:
        counts[future.result(0).partition] += 1
    assert min(counts) > 200, counts


def test_an_unknown_topic_is_made_and_written_to(broker: OurBroker) -> None:
    with producer_of(broker) as producer:
        assert producer.send("made-by-a-producer", b"v").result(PATIENCE_S).offset == 0


def test_a_batch_too_large_for_the_topic_is_split(broker: OurBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic(max_message_bytes=2000)
    with producer_of(broker, linger_ms=600_000, delivery_timeout_ms=700_000) as producer:
        futures = [producer.send(topic, b"%100d" % number) for number in range(100)]
        too_large = producer.send(topic, b"x" * 3000)
        producer.flush(PATIENCE_S)
        assert [future.result(0).offset for future in futures] == list(range(100))
        assert type(too_large.exception(0)).__name__ == "MessageTooLarge"
        after = producer.send(topic, b"after")
        producer.flush(PATIENCE_S)
        assert after.result(0).offset == 100
    read = [message.value() for message in kafka.read(topic, 101)]
    assert read == [*(b"%100d" % number for number in range(100)), b"after"]


def test_after_kills_in_the_middle_every_record_is_there_once_and_in_order(
    broker: OurBroker, kafka: Librdkafka, chance: random.Random
) -> None:
    """acks=all, idempotent, five requests in flight; the broker is killed twice while records flow."""
    topic = kafka.topic(2)
    total = 6000
    acked: list[tuple[int, Exception | None]] = []
    # So that records flow while the broker dies, and are not all there before.
    unacked = threading.Semaphore(400)

    def write(producer: KafkaProducer, number: int) -> None:
        def on_done(_: object, error: Exception | None) -> None:
            acked.append((number, error))
            unacked.release()

        assert unacked.acquire(timeout=PATIENCE_S), "a record got no outcome"
        producer.send(topic, b"%d" % number, partition=number % 2, callback=on_done)

    with producer_of(broker, batch_size=500, reconnect_backoff_max_ms=100, retry_backoff_max_ms=100) as producer:
        writing = threading.Thread(target=lambda: [write(producer, number) for number in range(total)])
        writing.start()
        for at_least in (chance.randrange(1000, 2000), chance.randrange(3000, 4000)):
            wait_until(lambda at_least=at_least: len(acked) >= at_least, "records are acknowledged")  # type: ignore[misc]
            broker.kill()
            broker.start()
        writing.join(PATIENCE_S * 2)
        producer.flush(PATIENCE_S * 2)
    assert sorted(number for number, _ in acked) == list(range(total))
    assert not [error for _, error in acked if error is not None]
    for partition in range(2):
        read = [int(message.value() or b"") for message in kafka.read(topic, total // 2, partition=partition)]
        assert read == list(range(partition, total, 2))
    # librdkafka's admin client saw the broker go.
    kafka.errors.clear()


def test_a_network_client_finds_the_leader_of_a_topic(broker: OurBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic(2)
    serializers = {"key.serializer": "VoidSerializer", "value.serializer": "VoidSerializer"}
    config = ClientConfig(PRODUCER_KEYS, {"bootstrap.servers": broker.bootstrap, **serializers})
    metadata = ClusterMetadata(bootstrap_addresses([broker.bootstrap]), metadata_settings(config))
    client = NetworkClient(network_settings(config, "finder", "Finder"), metadata)
    metadata.set_topics([topic], 0)

    def found() -> bool:
        client.poll(0.1)
        return metadata.snapshot.leader_of(TopicPartition(topic, 1)) is not None

    wait_until(found, "the leader is known")
    assert metadata.snapshot.partition_count(topic) == 2
    assert metadata.leader_epoch_of(TopicPartition(topic, 0)) == 0
    wait_until(lambda: client.ready(broker.broker_id) or client.poll(0.1), "there is a connection to the leader")
    client.close()


README = (Path(__file__).parents[2] / "README.md").read_text()


def printed(example: str, broker: OurBroker, topic: str, **names: object) -> str:
    """What the example prints with this broker and a topic of its own."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(example.replace("localhost:9092", broker.bootstrap).replace("hello", topic), names)
    return told.getvalue()


def example_in(documented: object) -> str:
    (example,) = re.findall(r"(?m)(^ +with (?:.*\n)+?)\n", f"{inspect.getdoc(documented)}\n\n")
    return textwrap.dedent(example)


def test_the_example_of_the_readme_writes_and_reads(broker: OurBroker) -> None:
    (example,) = re.findall(r"(?s)```python\n(.*?)```", README)
    assert printed(example, broker, "readme").splitlines()[1:] == ["['a value']"]


def test_the_examples_that_help_shows_write_and_read(broker: OurBroker) -> None:
    assert printed(example_in(KafkaProducer), broker, "help", KafkaProducer=KafkaProducer) == "0\n"
    assert printed(example_in(KafkaConsumer), broker, "help", KafkaConsumer=KafkaConsumer) == "help 0 0 a key a value\n"


def test_help_tells_of_each_method() -> None:
    """Of a compiled class the methods have no texts of their own."""
    public = [name for name in vars(KafkaProducer) if not name.startswith("_")]
    told = inspect.getdoc(KafkaProducer) or ""
    assert [name for name in public if not re.search(rf"(?m)^{name} ", told)] == []
    methods = [each for name, each in vars(KafkaConsumer).items() if not name.startswith("_")]
    assert [each for each in methods if not each.__doc__] == []
