"""An estate moves in: the data directory and the znodes that an Apache broker left, served by ours, then by Apache.

Every codec, transactions, producers, several segments, internal topics: what consumers read is what Apache's own
consumer read from the broker that wrote it, at both isolation levels, after a clean stop and after kill -9.
"""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_LOG_APPEND_TIME, KafkaError, Message, TopicPartition

from tests.support.apache import ApacheBroker, run_tool
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka
from tests.support.znodes import end_session, looking_at
from tests.support.zookeeper import eventually

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
CASES = (
    "01-plain",
    "02-gzip",
    "03-snappy",
    "04-lz4",
    "05-zstd",
    "06-broker-recompress-zstd",
    "07-broker-uncompressed",
    "08-logappendtime",
    "09-transactions",
    "10-idempotent",
    "11-multi-segment",
)
CLEAN_STOP, KILL = "clean stop", "kill -9"
OPEN_TRANSACTION = "golden-tx-open"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory as Apache left it."""
    with tarfile.open(GOLDEN / "18-whole-log-dir/data.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    folder = tmp_path / "data"
    for case in CASES:
        for partition in (GOLDEN / case).glob("golden-*-*"):
            shutil.copytree(partition, folder / partition.name, dirs_exist_ok=True)
    return folder


@pytest.fixture
def znodes(zookeeper_connect: str) -> str:
    """The tree as Apache left it, in a chroot."""
    with looking_at(zookeeper_connect) as client:
        for node in json.loads((GOLDEN / "18-whole-log-dir/zookeeper.json").read_text()):
            path = node["path"]
            if not (node["ephemeral"] or path == "/" or path.startswith("/zookeeper")):
                client.ensure_path(path)
                if node["data"]:
                    client.set(path, node["data"].encode())
    return zookeeper_connect


@pytest.fixture
def kinds(tmp_path: Path, data: Path, znodes: str) -> Iterator[dict[str, ApacheBroker | OurBroker]]:
    same = {"log.dirs": str(data), "log.retention.ms": "-1"}
    both: dict[str, ApacheBroker | OurBroker] = {
        "ours": OurBroker(tmp_path / "ours", znodes, overrides=same),
        "Apache": ApacheBroker(tmp_path / "apache", znodes, overrides=same),
    }
    yield both
    for broker in both.values():
        broker.kill()


def expectations() -> list[dict[str, Any]]:
    found = []
    for case in CASES:
        plain = GOLDEN / case / "expected.json"
        text = plain.read_bytes() if plain.exists() else gzip.decompress(plain.with_suffix(".json.gz").read_bytes())
        found += json.loads(text)
    return found


def unpacked(field: dict[str, str] | None) -> bytes | None:
    if field is None:
        return None
    return field["utf8"].encode() if "utf8" in field else base64.b64decode(field["base64"])


def expected_rows(records: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (
            record["offset"],
            record["timestamp"],
            record["timestamp_type"] == "LogAppendTime",
            unpacked(record["key"]),
            unpacked(record["value"]),
            [(header["key"], unpacked(header["value"])) for header in record["headers"]],
            record["leader_epoch"],
        )
        for record in records
    ]


def row(message: Message) -> tuple[object, ...]:
    kind, timestamp = message.timestamp()
    return (
        message.offset(),
        timestamp,
        kind == TIMESTAMP_LOG_APPEND_TIME,
        message.key(),
        message.value(),
        message.headers() or [],
        message.leader_epoch(),
    )


def read_to_the_ends(
    clients: Librdkafka, partitions: list[TopicPartition], isolation_level: str
) -> dict[tuple[str, int], list[tuple[object, ...]]]:
    """The records of each partition, up to its end at this isolation level."""
    consumer = clients.consumer(isolation_level=isolation_level, enable_partition_eof=True)
    consumer.assign([TopicPartition(each.topic, each.partition, OFFSET_BEGINNING) for each in partitions])
    rows: dict[tuple[str, int], list[tuple[object, ...]]] = {(each.topic, each.partition): [] for each in partitions}
    unfinished = set(rows)
    while unfinished:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"neither records nor an end of {unfinished}"
        key = message.topic(), message.partition()
        if message.error() is None:
            rows[key].append(row(message))
        else:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            unfinished.discard(key)
    clients.leave(consumer)
    return rows


def check_all(broker: ApacheBroker | OurBroker, without: str | None = None) -> None:
    """Every partition, both isolation levels."""
    clients = Librdkafka(broker.bootstrap)
    eventually(lambda: 0 in clients.admin.list_topics(timeout=PATIENCE_S).brokers)
    expected = [each for each in expectations() if each["topic"] != without]
    levels = {each["isolation_level"] for each in expected}
    assert levels == {"read_uncommitted", "read_committed"}
    for level in levels:
        here = {(each["topic"], each["partition"]): each for each in expected if each["isolation_level"] == level}
        found = read_to_the_ends(clients, [TopicPartition(*key) for key in here], level)
        for key, each in here.items():
            assert found[key] == expected_rows(each["records"]), (key, level)
    clients.close()
    assert not clients.errors


def end(broker: ApacheBroker | OurBroker, how: str, znodes: str) -> None:
    if how == KILL:
        broker.kill()
    else:
        broker.stop()
    end_session(znodes)


def test_what_apache_left_is_served_by_ours_and_then_by_apache(
    kinds: dict[str, ApacheBroker | OurBroker], data: Path, znodes: str
) -> None:
    before = {path.relative_to(data): path.read_bytes() for path in data.rglob("*.log")}
    for how in (CLEAN_STOP, KILL, CLEAN_STOP):
        check_all(kinds["ours"].start())
        end(kinds["ours"], how, znodes)
    assert {path.relative_to(data): path.read_bytes() for path in data.rglob("*.log") if path.stat().st_size} == {
        path: content for path, content in before.items() if content
    }
    logs = sorted(str(path) for path in data.rglob("golden-*/*.log"))
    dumped = run_tool("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(logs))
    assert (dumped.exit_code, dumped.stderr) == (0, "")
    assert "isvalid: false" not in dumped.stdout
    assert "invalid bytes" not in dumped.stdout
    # Apache's coordinator ends the open transaction as soon as it is there.
    check_all(kinds["Apache"].start(), without=OPEN_TRANSACTION)
    end(kinds["Apache"], KILL, znodes)
    check_all(kinds["ours"].start(), without=OPEN_TRANSACTION)
