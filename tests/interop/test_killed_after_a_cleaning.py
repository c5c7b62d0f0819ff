"""An Apache broker cleaned a log and was killed before it wrote recovery points: ours opens the directory.

Its cleaner leaves segments without a record. Nothing of what stands behind them may be taken for the rest of a loss.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import read_offsets
from kafka_zk.protocol.types import TopicPartition as Partition
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka, Written, take
from tests.support.processes import wait_until
from tests.support.znodes import end_session

TOPIC = Partition("cleaned", 0)
OVERWRITTEN = 9
"""Each batch fills a segment: so many records go because of a later one, and all of their segments."""
KEYS = [b"hot"] * (OVERWRITTEN + 1) + [b"%d" % number for number in range(12)]
RECORDS = [Written(bytes(600), key) for key in KEYS]
LEFT = list(enumerate(KEYS))[OVERWRITTEN:]
CONFIGS = {
    "cleanup.policy": "delete",
    "segment.bytes": "1000",
    "min.cleanable.dirty.ratio": "0.0001",
    "retention.ms": "-1",
}
SELDOM = {
    "log.cleaner.backoff.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "3600000",
}
UNCLEANED = {"log.cleaner.enable": "false"}


def configure(clients: Librdkafka, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ResourceType.TOPIC, TOPIC.topic, incremental_configs=[entry])
    clients.admin.incremental_alter_configs([topic])[topic].result(PATIENCE_S)


@pytest.fixture
def directory(tmp_path: Path, zookeeper_connect: str) -> Iterator[Path]:
    """What Apache's killed broker left."""
    apache = ApacheBroker(tmp_path / "apache", zookeeper_connect, overrides=SELDOM)
    apache.start()
    clients = Librdkafka(apache.bootstrap)
    new = NewTopic(TOPIC.topic, 1, 1, config=CONFIGS)
    clients.admin.create_topics([new], operation_timeout=PATIENCE_S)[TOPIC.topic].result(PATIENCE_S)
    clients.close()
    apache.stop()  # It writes the recovery points, as every minute.
    apache.start()
    clients = Librdkafka(apache.bootstrap)
    clients.write(TOPIC.topic, RECORDS, batch_num_messages=1, max_in_flight=1)
    configure(clients, "cleanup.policy", "compact")
    checkpoint = apache.log_dir / names.CLEANER_OFFSETS
    wait_until(lambda: read_offsets(checkpoint).get(TOPIC) == len(RECORDS) - 1, "Apache's cleaner is done")
    apache.kill()
    clients.close()
    yield apache.log_dir
    apache.kill()


def read_all(bootstrap: str) -> list[tuple[int, bytes | None]]:
    """The offset and the key of each record."""
    clients = Librdkafka(bootstrap)
    consumer = clients.consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition(TOPIC.topic, TOPIC.partition, OFFSET_BEGINNING)])
    rows: list[tuple[int, bytes | None]] = []
    while (message := take(consumer, 1)[0]).error() is None:
        rows.append((message.offset(), message.key()))
    assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
    clients.close()
    return rows


def test_what_stands_behind_segments_that_apache_emptied_is_served(
    tmp_path: Path, directory: Path, zookeeper_connect: str
) -> None:
    before_its_checkpoint = tmp_path / "before"
    shutil.copytree(directory, before_its_checkpoint)
    (before_its_checkpoint / names.CLEANER_OFFSETS).write_bytes(b"")
    assert read_offsets(directory / names.RECOVERY_POINTS) == {TOPIC: 0}
    sizes = [path.stat().st_size for path in sorted((directory / str(TOPIC)).glob("*.log"))]
    assert sizes[:OVERWRITTEN] == [0] * OVERWRITTEN
    for data in (directory, before_its_checkpoint):
        end_session(zookeeper_connect)
        ours = OurBroker(tmp_path / f"ours-{data.name}", zookeeper_connect, overrides=UNCLEANED, log_dir=data).start()
        try:
            assert read_all(ours.bootstrap) == LEFT, data
        finally:
            ours.kill()
