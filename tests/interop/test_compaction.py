"""One data directory, compacted by Apache Kafka 3.9.1 and by us: the same files, but for the time of the cleaning.

Delete horizons are the time of the cleaning plus delete.retention.ms. A batch that has one counts the times of its
records from it: it has a crc of its own, and compressed it may be a few bytes larger or smaller.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import read_offsets
from tests.support.apache import ApacheBroker, run_tool
from tests.support.broker import OurBroker
from tests.support.librdkafka import CODECS, PATIENCE_S, Librdkafka, Written
from tests.support.markers import wait_for_markers
from tests.support.processes import free_port, wait_until
from tests.support.znodes import end_session
from tests.support.zookeeper import eventually

KEYS = [b"key-%d" % number for number in range(40)]
SMALL = {"cleanup_policy": "compact", "segment_bytes": 8_000, "index_interval_bytes": 512, "segment_index_bytes": 4_000}
CLEANER = {"log.cleaner.min.cleanable.ratio": "0.01", "log.cleaner.backoff.ms": "200"}
GROUPS = 4
_HORIZON = re.compile(r"(deleteHorizonMs: OptionalLong\[)\d+(\].*crc: )\d+")
_BATCH = re.compile(
    r"(?P<start>baseOffset: .*) position: (?P<position>\d+) (?P<time>.*) size: (?P<size>\d+) (?P<end>.*)"
)
_POSITION = re.compile(r"(?<=position: )\d+")


class House:
    """ZooKeeper, the port and the broker id stay; brokers and directories change."""

    def __init__(self, folder: Path, zookeeper_connect: str) -> None:
        self.folder = folder
        self.zookeeper_connect = zookeeper_connect
        self.port = free_port()
        self.running: list[ApacheBroker | OurBroker] = []

    def start(self, kind: type[ApacheBroker | OurBroker], data: Path, *, cleaner: bool) -> Librdkafka:
        end_session(self.zookeeper_connect)
        overrides = {
            **CLEANER,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(data),
            "log.cleaner.enable": str(cleaner).lower(),
            "offsets.topic.segment.bytes": "2000",
            "offsets.topic.num.partitions": "1",
        }
        broker = kind(self.folder / f"broker-{len(self.running)}", self.zookeeper_connect, overrides=overrides)
        broker.port = self.port
        self.running.append(broker)
        broker.start()
        clients = Librdkafka(f"127.0.0.1:{self.port}")
        eventually(lambda: 0 in clients.admin.list_topics(timeout=PATIENCE_S).brokers)
        return clients

    def stop(self, clients: Librdkafka) -> None:
        """Once nothing is left to be written: the next broker would write the markers of what is decided."""
        wait_for_markers(clients.bootstrap)
        clients.close()
        self.running[-1].stop()

    def close(self) -> None:
        for broker in self.running:
            broker.kill()


@pytest.fixture
def house(tmp_path: Path, zookeeper_connect: str) -> Iterator[House]:
    built = House(tmp_path, zookeeper_connect)
    yield built
    built.close()


def write_updates(clients: Librdkafka, chance: random.Random) -> list[str]:
    """Every codec, tombstones, headers, large and small batches, idempotent producers, transactions."""
    plain, stamped = clients.topic(**SMALL), clients.topic(**SMALL, message_timestamp_type="LogAppendTime")
    for topic in (plain, stamped):
        for codec in CODECS:
            for linger_ms in (0, 20):
                rows = [
                    Written(
                        None if chance.random() < 0.1 else chance.randbytes(chance.randrange(60)),
                        chance.choice(KEYS),
                        (("h", b"1"), ("n", None)) if chance.random() < 0.2 else (),
                    )
                    for _ in range(120)
                ]
                idempotent = chance.random() < 0.5
                clients.write(
                    topic,
                    rows,
                    compression_type=codec,
                    linger_ms=linger_ms,
                    enable_idempotence=idempotent,
                    batch_num_messages=40,
                )
    transactional = clients.topic(**SMALL)
    producer = clients.producer(transactional_id="mine", linger_ms=5)
    producer.init_transactions(PATIENCE_S)
    for number in range(60):
        producer.begin_transaction()
        for _ in range(chance.randrange(1, 8)):
            value = None if chance.random() < 0.1 else b"%d-" % number + chance.randbytes(20)
            producer.produce(transactional, value, chance.choice(KEYS))
        producer.flush(PATIENCE_S)
        if chance.random() < 0.4:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    # The last transactions, so that the active segment holds none of those that must be cleaned.
    clients.write(
        transactional, [Written(bytes(50), b"tail-%d" % number) for number in range(200)], batch_num_messages=20
    )
    for number in range(GROUPS * 20):
        consumer = clients.consumer(group_id=f"group-{number % GROUPS}")
        consumer.commit(offsets=[TopicPartition(plain, 0, number)], asynchronous=False)
        clients.leave(consumer)
    return [plain, stamped, transactional, "__consumer_offsets"]


def active_base(partition: Path) -> int:
    return max(int(file.stem) for file in partition.glob("*.log"))


def wait_until_clean(data: Path, topics: list[str]) -> None:
    def clean() -> bool:
        found = read_offsets(data / names.CLEANER_OFFSETS)
        return all(
            any(
                topic_partition.topic == topic and offset == active_base(data / f"{topic}-0")
                for topic_partition, offset in found.items()
            )
            for topic in topics
        )

    wait_until(clean, f"{data.name}: all of {topics} are clean", 90)


def dumped(partition: Path) -> dict[str, str]:
    """What Apache's tool says of each file of a log, the moments of the cleaning left out."""
    found = {}
    for kind in names.SEGMENT_FILES:
        files = sorted(partition.glob(f"*{kind}"))
        if not files:
            continue
        done = run_tool(
            "kafka.tools.DumpLogSegments", "--deep-iteration", "--print-data-log", "--files", ",".join(map(str, files))
        )
        assert done.exit_code == 0, done
        text = _HORIZON.sub(r"\g<1>*\g<2>*", done.stdout.replace(str(partition), "."))
        for part in text.split("Dumping ./")[1:]:
            name, _, rest = part.partition("\n")
            found[name] = rest
    for name in [name for name in found if name.endswith(names.LOG)]:
        positions, found[name] = without_chance(found[name])
        index = name.removesuffix(names.LOG) + names.OFFSET_INDEX
        if index in found:
            found[index] = _POSITION.sub(lambda each, of=positions: str(of[int(each[0])]), found[index])
    return found


def without_chance(log: str) -> tuple[dict[int, int], str]:
    """A dumped log as if compressed batches with a delete horizon took no room: its positions then, and its text."""
    positions: dict[int, int] = {}
    left_out = 0

    def shown(batch: re.Match[str]) -> str:
        nonlocal left_out
        position, size = int(batch["position"]), batch["size"]
        positions[position] = position - left_out
        if "OptionalLong[" in batch["start"] and "compresscodec: none" not in batch["end"]:
            left_out += int(size)
            size = "*"
        return f"{batch['start']} position: {positions[position]} {batch['time']} size: {size} {batch['end']}"

    text = _BATCH.sub(shown, log)
    return positions, text


def read_committed(clients: Librdkafka, topic: str) -> list[tuple[object, ...]]:
    consumer: Consumer = clients.consumer(enable_partition_eof=True, isolation_level="read_committed")
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    rows = []
    while True:
        message: Message | None = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            break
        rows.append((message.offset(), message.timestamp(), message.key(), message.value(), message.headers()))
    clients.leave(consumer)
    return rows


def test_both_cleaners_leave_the_same(house: House, tmp_path: Path, chance: random.Random) -> None:
    """And Apache serves what ours left, as its own consumers saw it before."""
    before, theirs, ours = tmp_path / "before", tmp_path / "theirs", tmp_path / "ours"
    clients = house.start(ApacheBroker, before, cleaner=False)
    topics = write_updates(clients, chance)
    latest = {topic: latest_of(read_committed(clients, topic)) for topic in topics}
    house.stop(clients)
    sizes = {topic: log_bytes(before / f"{topic}-0") for topic in topics}
    seen = {}
    for kind, data in ((ApacheBroker, theirs), (OurBroker, ours)):
        shutil.copytree(before, data)
        clients = house.start(kind, data, cleaner=True)
        wait_until_clean(data, topics)
        seen[kind] = {topic: read_committed(clients, topic) for topic in topics}
        house.stop(clients)
    for topic in topics:
        assert log_bytes(ours / f"{topic}-0") < sizes[topic] * 0.9, "something was there to remove"
        assert seen[OurBroker][topic] == seen[ApacheBroker][topic]
        assert latest_of(seen[OurBroker][topic]) == latest[topic]
        mine, apaches = dumped(ours / f"{topic}-0"), dumped(theirs / f"{topic}-0")
        assert sorted(mine) == sorted(apaches)
        for name, text in apaches.items():
            assert mine[name] == text, f"{topic} {name}"
    clients = house.start(ApacheBroker, ours, cleaner=True)
    assert {topic: read_committed(clients, topic) for topic in topics} == seen[ApacheBroker]
    house.stop(clients)


def latest_of(rows: list[tuple[object, ...]]) -> dict[object, object]:
    values = {row[2]: row[3] for row in rows}
    return {key: value for key, value in values.items() if value is not None}


def log_bytes(partition: Path) -> int:
    return sum(file.stat().st_size for file in partition.glob("*.log"))
