"""kill -9 under load: what was acknowledged and is in the page cache is there after the restart, once and in order."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer

from kafka_zk.record.batch import batches
from tests.support import wire
from tests.support.apache import run_tool
from tests.support.broker import OurBroker
from tests.support.kill_load import Writer
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

TOPIC = "killed"
ROUNDS = 3
ACKS_OF_PARTITION = {0: 1, 1: -1}
LIBRDKAFKA_PARTITION = 2
# Small enough that every round rolls segments and every segment has many index entries.
CONFIGS = {"segment.bytes": "200000", "index.interval.bytes": "1000"}


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path, zookeeper_connect).start()
    with RawClient(running.bootstrap) as client:
        wire.create_topic(client, TOPIC, 3, CONFIGS)
    yield running
    running.kill()


def test_after_kills_under_load_every_acknowledged_record_is_there_once_and_in_order(
    broker: OurBroker, chance: random.Random
) -> None:
    expected: dict[int, dict[int, bytes]] = {partition: {} for partition in ACKS_OF_PARTITION}
    sent: dict[int, set[bytes]] = {partition: set() for partition in ACKS_OF_PARTITION}
    for _ in range(ROUNDS):
        writers = [
            Writer(broker.bootstrap, TOPIC, partition, acks, random.Random(chance.random()))
            for partition, acks in ACKS_OF_PARTITION.items()
        ]
        for writer in writers:
            writer.start()
        wait_for_records(writers, chance.randrange(200, 3000))
        broker.kill()
        for writer in writers:
            writer.join()
            expected[writer.partition] |= writer.acknowledged
            sent[writer.partition] |= writer.sent
        broker.start()
        # A predecessor's session would live for half a minute; it was ended instead.
        broker.says("Closing ZooKeeper session")
        for partition in ACKS_OF_PARTITION:
            assert_holds(broker, partition, expected[partition], sent[partition])
    assert broker.stop() == 143
    assert_indexes_are_right(broker.log_dir)


def wait_for_records(writers: list[Writer], count: int) -> None:
    wait_until(lambda: sum(len(writer.acknowledged) for writer in writers) > count, "records are acknowledged")


def assert_holds(broker: OurBroker, partition: int, acknowledged: dict[int, bytes], sent: set[bytes]) -> None:
    """The log has what was acknowledged where it was acknowledged, and beside it only what was sent, nothing twice."""
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        found = list(wire.read(client, TOPIC, partition=partition))
    assert [record.offset for record in found] == list(range(len(found)))
    by_offset = {record.offset: record.value for record in found}
    lost = {offset: value for offset, value in acknowledged.items() if by_offset.get(offset) != value}
    assert not lost
    values = [record.value for record in found if record.value is not None]
    assert len(set(values)) == len(values) == len(found)
    assert set(values) <= sent


def test_an_idempotent_producer_goes_on_over_kills_and_every_record_is_there_once_in_order(
    broker: OurBroker, chance: random.Random
) -> None:
    delivered: list[bytes] = []
    failed: list[object] = []

    def on_delivery(error: object, message: Message) -> None:
        if error is not None:
            failed.append(error)
        else:
            delivered.append(message.value() or b"")

    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 1,
            "retry.backoff.ms": 50,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
            "broker.address.family": "v4",
        }
    )
    produced = []
    for _ in range(ROUNDS):
        until = len(delivered) + chance.randrange(500, 3000)
        while len(delivered) < until:
            value = b"%d" % len(produced)
            produced.append(value)
            producer.produce(TOPIC, value, partition=LIBRDKAFKA_PARTITION, on_delivery=on_delivery)
            producer.poll(0.001 if len(produced) - len(delivered) > 500 else 0)
        broker.kill()
        broker.start()
    assert producer.flush(60) == 0
    assert failed == []
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        found = [record.value for record in wire.read(client, TOPIC, partition=LIBRDKAFKA_PARTITION)]
    assert found == produced == delivered


@pytest.mark.parametrize("damage", ["cut", "garbage", "zeros", "flipped"])
def test_a_damaged_end_of_the_log_is_cut_and_the_log_says_so(
    broker: OurBroker, chance: random.Random, damage: str
) -> None:
    with RawClient(broker.bootstrap) as client:
        for number in range(300):
            wire.write(client, TOPIC, [b"%d" % number + b"." * 1000])
    broker.kill()
    segment = max((broker.log_dir / f"{TOPIC}-0").glob("*.log"))
    content = segment.read_bytes()
    last = list(batches(content))[-1]
    lost = 1 if damage in ("cut", "flipped") else 0
    os.truncate(segment, last.position + chance.randrange(1, last.size_bytes) if damage == "cut" else len(content))
    with segment.open("r+b") as file:
        if damage == "flipped":
            file.seek(last.position + chance.randrange(21, last.size_bytes))
            position = file.tell()
            file.write(bytes([content[position] ^ (1 << chance.randrange(8))]))
        elif damage != "cut":
            file.seek(0, os.SEEK_END)
            size = chance.randrange(1, 5000)
            file.write(bytes(size) if damage == "zeros" else chance.randbytes(size))
    broker.start()
    assert segment.stat().st_size == (last.position if lost else len(content))
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        found = list(wire.read(client, TOPIC))
        assert [record.value for record in found] == [b"%d" % number + b"." * 1000 for number in range(300 - lost)]
        assert wire.write(client, TOPIC, [b"afterwards"]) == 300 - lost
    broker.says("Corruption found")
    (line,) = [line for line in broker.process.output().splitlines() if "Corruption found" in line]
    assert f"[LogLoader partition={TOPIC}-0, dir={broker.log_dir}]" in line
    assert f"Corruption found in segment {int(segment.stem)}, truncating to offset {300 - lost} " in line
    assert broker.stop() == 143
    assert_indexes_are_right(broker.log_dir)


def assert_indexes_are_right(log_dir: Path) -> None:
    """Apache's own tool compares every index entry with the log, and finds nothing."""
    files = sorted(
        path
        for partition in log_dir.glob(f"{TOPIC}-*")
        for path in partition.iterdir()
        if path.suffix in (".index", ".timeindex") and path.stat().st_size
    )
    assert files
    names = ",".join(map(str, files))
    for option in ("--verify-index-only", "--index-sanity-check"):
        checked = run_tool("kafka.tools.DumpLogSegments", option, "--files", names)
        assert checked.exit_code == 0, checked.stderr
        said = [line for line in checked.stdout.splitlines() if not line.startswith("Dumping ")]
        assert [line for line in said if not line.endswith("passed sanity check.")] == []
        assert "Exception" not in checked.stderr
