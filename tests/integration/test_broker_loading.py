"""A broker that comes back to several log directories: loaded side by side, one of them broken, in Apache's words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.protocol.errors import ErrorCode
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

TOPIC = "spread"
PARTITION_COUNT = 8


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    dirs = f"{tmp_path}/a,{tmp_path}/b"
    overrides = {"log.dirs": dirs, "num.recovery.threads.per.data.dir": "2"}
    running = OurBroker(tmp_path, zookeeper_connect, overrides=overrides).start()
    with RawClient(running.bootstrap) as client:
        wire.create_topic(client, TOPIC, PARTITION_COUNT)
        for partition in range(PARTITION_COUNT):
            wire.write(client, TOPIC, [b"kept"], partition=partition)
    yield running
    running.kill()


def start_lines(broker: OurBroker) -> list[str]:
    """What the log manager said since the second start, without times."""
    broker.says("] started (kafka.server.KafkaServer)", times=2)
    last_start = broker.process.output().rpartition("] starting (kafka.server.KafkaServer)")[2]
    said = re.findall(r"^\[[^]]*\] [A-Z]+ (.*) \(kafka\.log\.LogManager\)$", last_start, re.MULTILINE)
    return [re.sub(r"\d+ms", "Nms", line) for line in said]


def test_after_a_kill_both_directories_are_recovered_and_each_counts_its_own_logs(broker: OurBroker) -> None:
    broker.kill()
    broker.start()
    a, b = broker.folder / "a", broker.folder / "b"
    lines = start_lines(broker)
    half = PARTITION_COUNT // 2
    assert lines[:3] == [
        f"Loading logs from log dirs ArrayBuffer({a}, {b})",
        f"Recovering {half} logs from {a} since no clean shutdown file was found",
        f"Recovering {half} logs from {b} since no clean shutdown file was found",
    ]
    for path in (a, b):
        counted = [
            int(found[1]) for line in lines if (found := re.search(rf"\((\d+)/{half} completed in {path}\)", line))
        ]
        assert counted == list(range(1, half + 1))
    loaded = f"Loaded {PARTITION_COUNT} logs in Nms (unclean log dirs = ArrayBuffer({a}, {b}))"
    assert lines.index(loaded) == 3 + PARTITION_COUNT
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        for partition in range(PARTITION_COUNT):
            assert [record.value for record in wire.read(client, TOPIC, partition=partition)] == [b"kept"]


def test_a_directory_that_cannot_be_loaded_goes_offline_and_the_other_is_served(broker: OurBroker) -> None:
    broker.kill()
    bad, good = broker.folder / "a", broker.folder / "b"
    broken = next(bad.glob(f"{TOPIC}-*"))
    # No disk fails on request, but a directory in the place of a file cannot be read either.
    (broken / f"{0:020d}.log").unlink()
    (broken / f"{0:020d}.log").mkdir()
    broker.start()
    broker.says(f"Error while loading log dir {bad} (")
    broker.says("Traceback")
    assert broker.process.output().count("Traceback") == 1, "the disk's error is told once, with its trace"
    with RawClient(broker.bootstrap) as client:
        for path in good.glob(f"{TOPIC}-*"):
            partition = int(path.name.rpartition("-")[2])
            # It may serve before the controller has told it of this one.
            wait_until(
                lambda partition=partition: wire.try_fetch(client, TOPIC, 0, partition=partition)[0] is ErrorCode.NONE,
                f"{TOPIC}-{partition} is served",
            )
            assert [record.value for record in wire.read(client, TOPIC, partition=partition)] == [b"kept"]
    assert broker.stop() == 143
    assert (good / ".kafka_cleanshutdown").exists()
    assert not (bad / ".kafka_cleanshutdown").exists()
