"""A broker with a compacted topic under updates: it stays small, and readers find the latest value of each key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka, Written
from tests.support.processes import has_ended, wait_until

KEY_COUNT = 50
ROUNDS = 60
PADDING = bytes(100)
COMMIT_BYTES = 100
"""No commit takes less."""

SMALL = {"cleanup_policy": "compact", "segment_bytes": 60_000, "min_cleanable_dirty_ratio": 0.1}


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    running = OurBroker(
        tmp_path,
        zookeeper_connect,
        overrides={
            "log.cleaner.backoff.ms": "50",
            "log.cleaner.dedupe.buffer.size": "4194304",
            "offsets.topic.segment.bytes": "4000",
            "offsets.topic.num.partitions": "1",
            "log.cleaner.min.cleanable.ratio": "0.1",
        },
    ).start()
    yield running
    running.kill()


def value(key: int, number: int) -> bytes:
    return b"%d:%d:" % (key, number) + PADDING


def updates(first_round: int) -> list[Written]:
    """Every key gets a new value each round; the last key is deleted in the end."""
    rows = [
        Written(value(key, number), b"key-%d" % key)
        for number in range(first_round, first_round + ROUNDS)
        for key in range(KEY_COUNT)
    ]
    return [*rows, Written(None, b"key-%d" % (KEY_COUNT - 1))]


def read_all(clients: Librdkafka, topic: str) -> list[tuple[int, bytes, bytes | None]]:
    consumer = clients.consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    rows = []
    while True:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            clients.leave(consumer)
            return rows
        rows.append((message.offset(), message.key(), message.value()))


def check(clients: Librdkafka, topic: str, last_round: int) -> None:
    rows = read_all(clients, topic)
    offsets = [offset for offset, _, _ in rows]
    assert offsets == sorted(set(offsets))
    latest = {key: found for _, key, found in rows}
    wanted = {b"key-%d" % key: value(key, last_round) for key in range(KEY_COUNT - 1)}
    assert {key: found for key, found in latest.items() if found is not None} == wanted


def log_bytes(broker: OurBroker, partition: str) -> int:
    """Files come and go while one looks."""
    total = 0
    for file in (broker.log_dir / partition).glob("*.log"):
        with suppress(FileNotFoundError):
            total += file.stat().st_size
    return total


def helpers(broker: OurBroker) -> list[int]:
    pid = broker.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"kafka_zk.log.helper" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_a_compacted_topic_stays_small_and_right(broker: OurBroker) -> None:
    clients = Librdkafka(broker.bootstrap)
    topic = clients.topic(**SMALL)
    written_bytes = ROUNDS * KEY_COUNT * len(PADDING)
    clients.write(topic, updates(0), batch_num_messages=100)
    wait_until(lambda: log_bytes(broker, f"{topic}-0") < written_bytes / 3, "the log shrinks", 60)
    check(clients, topic, ROUNDS - 1)
    started = helpers(broker)
    broker.kill()
    wait_until(lambda: all(has_ended(pid) for pid in started), "the helpers end with their broker")
    broker.start()
    clients.close()
    clients = Librdkafka(broker.bootstrap)
    check(clients, topic, ROUNDS - 1)
    clients.write(topic, updates(ROUNDS), batch_num_messages=100)
    wait_until(lambda: log_bytes(broker, f"{topic}-0") < written_bytes / 3, "it shrinks again", 60)
    check(clients, topic, 2 * ROUNDS - 1)
    # The cleaner says so in its own file, in Kafka's words.
    text = (broker.folder / "logs" / "log-cleaner.log").read_text()
    assert f"Log cleaner thread 0 cleaned log {topic}-0 (dirty section = [" in text
    assert "ERROR" not in text
    clients.close()
    assert broker.stop() == 143


def test_committed_offsets_are_compacted_and_kept(broker: OurBroker) -> None:
    """Also those of a group that was deleted: its tombstones do what they should."""
    clients = Librdkafka(broker.bootstrap)
    topic = clients.topic()
    for number in range(150):
        consumer = clients.consumer(group_id=f"group-{number % 3}")
        consumer.commit(offsets=[TopicPartition(topic, 0, number)], asynchronous=False)
        clients.leave(consumer)
    clients.admin.delete_consumer_groups(["group-2"])["group-2"].result(PATIENCE_S)
    for number in range(150, 190):
        consumer = clients.consumer(group_id="group-0")
        consumer.commit(offsets=[TopicPartition(topic, 0, number)], asynchronous=False)
        clients.leave(consumer)
    wait_until(lambda: offsets_bytes(broker) < 190 * COMMIT_BYTES / 2, "the offsets topic shrinks", 60)
    broker.stop()
    broker.start()
    clients.close()
    clients = Librdkafka(broker.bootstrap)
    for group, offset in (("group-0", 189), ("group-1", 148), ("group-2", -1001)):
        consumer = clients.consumer(group_id=group)
        (found,) = consumer.committed([TopicPartition(topic, 0)], PATIENCE_S)
        assert found.offset == offset, group
    clients.close()


def offsets_bytes(broker: OurBroker) -> int:
    return log_bytes(broker, "__consumer_offsets-0")
