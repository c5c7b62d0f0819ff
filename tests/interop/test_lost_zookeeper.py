"""ZooKeeper's data is lost, the data directories are there: the doctor writes the znodes, and every record is served.

By ours and by Apache Kafka in turns, from the directory that an Apache broker left.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from kazoo.client import KazooClient

from tests.interop.test_golden_directory_served import (
    CLEAN_STOP,
    GOLDEN,
    KILL,
    OPEN_TRANSACTION,
    check_all,
    data,
    end,
)
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka, Written
from tests.support.znodes import looking_at
from tests.support.zookeeper import eventually

__all__ = ["data"]


@pytest.fixture
def zk(zookeeper_connect: str) -> Iterator[KazooClient]:
    with looking_at(zookeeper_connect) as client:
        yield client


@pytest.fixture
def kinds(tmp_path: Path, data: Path, zookeeper_connect: str) -> Iterator[dict[str, ApacheBroker | OurBroker]]:
    # The broker's own retention would delete records of 2023 at once; the doctor's retention.ms=-1 keeps them.
    same = {"log.dirs": str(data), "log.retention.hours": "1"}
    both: dict[str, ApacheBroker | OurBroker] = {
        "ours": OurBroker(tmp_path / "ours", zookeeper_connect, overrides=same),
        "Apache": ApacheBroker(tmp_path / "apache", zookeeper_connect, overrides=same),
    }
    yield both
    for broker in both.values():
        broker.kill()


def doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "kafka_zk.tools.log_doctor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def document(zk: KazooClient, path: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(zk.get(path)[0])
    return found


def test_znodes_made_from_the_directories_serve_every_record(
    kinds: dict[str, ApacheBroker | OurBroker], data: Path, zookeeper_connect: str, zk: KazooClient
) -> None:
    written = doctor("--znodes", "--apply", "--zookeeper", zookeeper_connect, str(data))
    assert written.returncode == 0, written.stderr
    lost = {node["path"]: node for node in json.loads((GOLDEN / "18-whole-log-dir/zookeeper.json").read_text())}
    topics = [path for path in lost if path.startswith("/brokers/topics/") and path.count("/") == 3]
    assert topics
    for path in topics:
        there, before = document(zk, path), json.loads(lost[path]["data"])
        if not (data / f"{path.rpartition('/')[2]}-0" / "partition.metadata").exists():
            # Of some topics only the batches were kept.
            del before["topic_id"]
        assert there == before, path
    assert document(zk, "/cluster/id") == json.loads(lost["/cluster/id"]["data"])

    again = doctor("--znodes", "--apply", "--zookeeper", zookeeper_connect, str(data))
    assert again.returncode == 0
    assert {line.partition(":")[0] for line in again.stdout.splitlines()} == {"there already"}

    check_all(kinds["ours"].start())
    refused = doctor("--znodes", "--apply", "--zookeeper", zookeeper_connect, str(data))
    assert (refused.returncode, "in use" in refused.stderr) == (1, True)
    end(kinds["ours"], CLEAN_STOP, zookeeper_connect)
    check_all(kinds["Apache"].start(), without=OPEN_TRANSACTION)
    # Producers are new ones, not those of before: nothing they write is taken for a repetition.
    clients = Librdkafka(kinds["Apache"].bootstrap)
    clients.write("golden-idempotent", [Written(b"after")], enable_idempotence=True)
    _, end_offset = clients.consumer().get_watermark_offsets(TopicPartition("golden-idempotent", 0), PATIENCE_S)
    messages = clients.read("golden-idempotent", end_offset)
    assert messages[-1].value() == b"after"
    clients.close()
    end(kinds["Apache"], KILL, zookeeper_connect)
    eventually(lambda: not zk.exists("/brokers/ids/0"))
    kinds["ours"].start().stop()
