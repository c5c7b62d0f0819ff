"""Our producer on Apache Kafka 3.9.1: Java's consumer reads every codec, headers and nulls of ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_zk.client.producer.kafka_producer import KafkaProducer
from tests.support.apache import ApacheBroker, run_tool
from tests.support.librdkafka import CODECS, PATIENCE_S, Librdkafka, Written, as_written
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
T0 = 1_700_000_000_000
RECORDS = [
    Written(b"value", b"key", (("a", b"1"), ("n", None)), T0),
    Written(None, b"deleted", (), T0 + 1),
    Written(b"no key", None, (), T0 + 2),
    *(Written(b"text " * 10 + b"%d" % number, b"%d" % number, (), T0 + number) for number in range(200)),
]


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    running = ApacheBroker(tmp_path_factory.mktemp("apache"), fresh_chroot(zookeeper, "apache-producer")).start()
    yield running
    running.stop()


def test_java_s_consumer_reads_every_codec_of_ours(broker: ApacheBroker, kafka: Librdkafka) -> None:
    topic = kafka.topic()
    for codec in CODECS:
        config = {
            "bootstrap.servers": broker.bootstrap,
            "key.serializer": "ByteArraySerializer",
            "value.serializer": "ByteArraySerializer",
            "compression.type": codec,
            "linger.ms": 5,
        }
        with KafkaProducer(config) as producer:
            futures = [
                producer.send(topic, each.value, each.key, timestamp_ms=each.timestamp_ms, headers=each.headers)
                for each in RECORDS
            ]
            offsets = [future.result(PATIENCE_S).offset for future in futures]
        assert offsets == list(range(offsets[0], offsets[0] + len(RECORDS)))
    written = RECORDS * len(CODECS)
    printing = ("print.key=true", "print.headers=true", "print.timestamp=true", "print.offset=true")
    properties = [argument for each in printing for argument in ("--property", each)]
    reading = ("--topic", topic, "--from-beginning", "--max-messages", str(len(written)), *properties)
    run = run_tool(CONSOLE_CONSUMER, "--bootstrap-server", broker.bootstrap, *reading)
    assert run.exit_code == 0, run
    assert run.stdout.splitlines() == [printed(offset, each) for offset, each in enumerate(written)]
    read = kafka.read(topic, len(written))
    assert [as_written(message, with_timestamp=True) for message in read] == written


def printed(offset: int, record: Written) -> str:
    headers = ",".join(f"{name}:{_text(value)}" for name, value in record.headers) or "NO_HEADERS"
    return f"CreateTime:{record.timestamp_ms}\tOffset:{offset}\t{headers}\t{_text(record.key)}\t{_text(record.value)}"


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode()
