"""Our broker and Apache's take turns on one data directory, one broker id and one ZooKeeper: neither notices.

One idempotent producer lives through all turns: its sequence numbers go on only where the broker before left its
producer state (snapshots, or the batches themselves after a crash) as the next one reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer, TopicPartition

from tests.support.apache import ApacheBroker, run_tool
from tests.support.broker import OurBroker
from tests.support.librdkafka import CODECS, PATIENCE_S, Librdkafka, Written, take
from tests.support.processes import free_port
from tests.support.znodes import end_session
from tests.support.zookeeper import eventually

APACHE, OURS = "Apache", "ours"
GROUP = "goes-on"
LONG = TopicPartition("long", 0)
A_TURN = 50
"""Records that the long-lived producer writes, and the group reads, in one turn."""


class House:
    """The data, the ZooKeeper and the port that stay; the brokers that come and go."""

    def __init__(self, folder: Path, zookeeper_connect: str) -> None:
        self.zookeeper_connect = zookeeper_connect
        self.folder = folder / "shared"
        port = free_port()
        self.bootstrap = f"127.0.0.1:{port}"
        same = {
            "listeners": f"PLAINTEXT://{self.bootstrap}",
            "log.dirs": str(self.folder),
        }
        apache = ApacheBroker(folder / "apache", zookeeper_connect, overrides=same)
        self.kinds: dict[str, ApacheBroker | OurBroker] = {
            APACHE: apache,
            OURS: OurBroker(folder / "ours", zookeeper_connect, overrides=same),
        }

    def close(self) -> None:
        for broker in self.kinds.values():
            broker.kill()

    def start(self, kind: str) -> Librdkafka:
        """Its clients, once it knows itself."""
        end_session(self.zookeeper_connect)
        self.kinds[kind].start()
        clients = Librdkafka(self.bootstrap)
        eventually(lambda: 0 in clients.admin.list_topics(timeout=PATIENCE_S).brokers)
        return clients

    def end(self, kind: str, how: str) -> None:
        broker = self.kinds[kind]
        if how == "kill":
            broker.kill()
        else:
            broker.stop()


@pytest.fixture
def house(tmp_path: Path, zookeeper_connect: str) -> Iterator[House]:
    built = House(tmp_path, zookeeper_connect)
    yield built
    built.close()


def seen(messages: list[Message]) -> list[tuple[object, ...]]:
    """All that a consumer can know of a record."""
    return [
        (message.offset(), message.timestamp(), message.key(), message.value(), message.headers(), message.error())
        for message in messages
    ]


def write_all_kinds(clients: Librdkafka) -> dict[str, int]:
    """Topics of different kinds and how many records each got."""
    shapes = [
        Written(b"value", b"key", (("h", None), ("h", b"\x00"), ("", b""))),
        Written(None, b"deleted"),
        Written(None, None),
        *(Written(b"text " * 20, b"%d" % number) for number in range(200)),
    ]
    counts = {}
    plain = clients.topic()
    for codec in CODECS:
        clients.write(plain, shapes, compression_type=codec, linger_ms=20)
    counts[plain] = len(CODECS) * len(shapes)
    stamped = clients.topic(message_timestamp_type="LogAppendTime", compression_type="zstd")
    clients.write(stamped, shapes, linger_ms=20)
    counts[stamped] = len(shapes)
    segmented = clients.topic(segment_bytes=20_000)
    clients.write(segmented, [Written(bytes(1_000), b"%d" % number) for number in range(100)], batch_num_messages=3)
    counts[segmented] = 100
    return counts


def go_on_writing(producer: Producer, turn: int) -> None:
    refused: list[object] = []
    for number in range(A_TURN):
        producer.produce(
            LONG.topic, b"%d" % (turn * A_TURN + number), on_delivery=lambda error, _: refused.append(error)
        )
    assert producer.flush(PATIENCE_S) == 0
    assert refused == [None] * A_TURN


def go_on_reading(clients: Librdkafka, turn: int) -> None:
    """A member begins behind what the member of the turn before committed, and reads the records of one turn."""
    consumer = clients.consumer(group_id=GROUP, session_timeout_ms=6_000)
    consumer.subscribe([LONG.topic])
    wanted = range(turn * A_TURN, (turn + 1) * A_TURN)
    assert [int(message.value()) for message in take(consumer, A_TURN)] == list(wanted)
    consumer.commit(asynchronous=False)
    clients.leave(consumer)


def check_files(house: House) -> None:
    """Apache's own tool finds nothing wrong with any segment or index that both have written."""
    files = [
        str(path)
        for path in sorted(house.folder.glob("*-*/*"))
        if path.suffix in (".log", ".index", ".timeindex") and path.stat().st_size
    ]
    dumped = run_tool("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(files))
    assert (dumped.exit_code, dumped.stderr) == (0, "")
    complaints = ("isvalid: false", "invalid bytes", "Mismatches in", "out of order", "not found in log")
    assert [line for line in dumped.stdout.splitlines() if any(words in line for words in complaints)] == []
    assert sum(path.endswith(".index") for path in files) > 5


def test_each_serves_what_the_other_left_and_goes_on_from_there(house: House) -> None:
    """Both ways, after a clean stop and after kill -9."""
    turns = ((OURS, "stop"), (APACHE, "kill"), (OURS, "kill"), (APACHE, "stop"), (OURS, "stop"))
    producer = Producer(
        {
            "bootstrap.servers": house.bootstrap,
            "enable.idempotence": True,
            "compression.type": "lz4",
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    counts: dict[str, int] = {}
    before: dict[str, list[tuple[object, ...]]] = {}
    for turn, (kind, how) in enumerate(turns):
        clients = house.start(kind)
        for topic, count in counts.items():
            assert seen(clients.read(topic, count)) == before[topic], f"{kind} serves {topic} differently"
        go_on_writing(producer, turn)
        go_on_reading(clients, turn)
        assert clients.consumer().get_watermark_offsets(LONG, PATIENCE_S) == (0, (turn + 1) * A_TURN)
        # What each wrote is read by each from now on.
        if turn < len({OURS, APACHE}):
            counts |= write_all_kinds(clients)
            before = {topic: seen(clients.read(topic, count)) for topic, count in counts.items()}
        clients.close()
        house.end(kind, how)
    check_files(house)
