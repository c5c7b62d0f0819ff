"""The Java client as a library, on our broker: records of any shape byte for byte, and the groups of each assignor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tests.support.apache import ToolRun, run_tool
from tests.support.broker import OurBroker
from tests.support.librdkafka import CODECS, PATIENCE_S, Librdkafka, Written, as_written
from tests.support.names import fresh
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PROGRAMS = Path(__file__).parent / "java"
ASSIGNORS = "org.apache.kafka.clients.consumer."
T0 = 1_700_000_000_000
SHAPES = [
    Written(b"value", b"key", timestamp_ms=T0),
    Written(None, b"deleted", timestamp_ms=T0 + 1),
    Written(None, None, timestamp_ms=T0 + 2),
    Written(b"", b"", timestamp_ms=T0 - 1_000),
    Written(bytes(range(256)), bytes(range(255, -1, -1)), timestamp_ms=T0),
    Written(b"h", b"h", (("null", None), ("empty", b""), ("twice", b"1"), ("twice", bytes(range(256))), ("", b"")), T0),
    *(Written(b"some text " * 30, b"%d" % number, (("n", b"%d" % number),), T0 + number) for number in range(2_000)),
    Written(bytes(900_000), b"large", timestamp_ms=T0),
]


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path_factory.mktemp("java-programs"), fresh_chroot(zookeeper, "java-programs")).start()
    yield running
    running.stop()
    assert " ERROR " not in running.process.output()


def run(program: str, *arguments: object) -> ToolRun:
    """Compile and run one of the programs; it must succeed and complain of nothing."""
    done = run_tool(str(PROGRAMS / f"{program}.java"), *map(str, arguments))
    assert done.exit_code == 0, done
    assert not [line for line in done.stderr.splitlines() if " WARN " in line or " ERROR " in line], done.stderr
    return done


def test_java_copies_what_librdkafka_wrote_and_nothing_changes(kafka: Librdkafka) -> None:
    """From batches of each codec to batches of each codec."""
    source = kafka.topic(max_message_bytes=2_000_000)
    for codec in CODECS:
        kafka.write(source, SHAPES, compression_type=codec, linger_ms=20)
    records = SHAPES * len(CODECS)
    copies = {codec: kafka.topic(max_message_bytes=2_000_000) for codec in CODECS}
    run("Copy", kafka.bootstrap, source, len(records), *(f"{codec}={topic}" for codec, topic in copies.items()))
    for codec, topic in copies.items():
        read = [as_written(message, with_timestamp=True) for message in kafka.read(topic, len(records))]
        assert read == records, f"copied as {codec}"


@pytest.mark.parametrize(
    ("assignor", "membership"), [("RangeAssignor", "static"), ("CooperativeStickyAssignor", "static")]
)
def test_java_members_share_read_and_commit(kafka: Librdkafka, assignor: str, membership: str) -> None:
    partitions, each = 6, 50
    topic = kafka.topic(partitions=partitions)
    for partition in range(partitions):
        kafka.write(topic, [Written(b"%d" % number) for number in range(each)], partition=partition)
    group = fresh(f"{assignor}-{membership}")
    total = partitions * each
    done = run("Members", kafka.bootstrap, topic, partitions, total, group, ASSIGNORS + assignor, 3, membership)
    assert done.stdout == f"read {total}\n"
    # Another kind of client begins where these ended.
    wanted = [TopicPartition(topic, partition) for partition in range(partitions)]
    committed = kafka.consumer(group_id=group).committed(wanted, PATIENCE_S)
    assert [(found.offset, found.metadata) for found in committed] == [(each, "by Java")] * partitions
