"""A log directory that cannot be written: its partitions go offline, the others stay; without any the broker ends."""

from __future__ import annotations

import errno
import random
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.protocol.errors import ErrorCode
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import ConnectionClosed, RawClient

TOPIC = "full"
LIMIT_BYTES = 1 << 20
OFFLINE = {ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE}
# The index files are as large as this from the beginning on and must not be what fails.
SMALL_INDEXES = {"log.index.size.max.bytes": "65536"}


def let_files_grow_to(broker: OurBroker, limit_bytes: int) -> None:
    """From now on no file of the broker becomes larger: a write beyond is cut short, the next one fails."""
    _, hard = resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (limit_bytes, hard))


@pytest.fixture
def two_dirs(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    dirs = f"{tmp_path}/a,{tmp_path}/b"
    running = OurBroker(tmp_path, zookeeper_connect, overrides={"log.dirs": dirs, **SMALL_INDEXES}).start()
    yield running
    running.kill()


@pytest.fixture
def one_dir(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path, zookeeper_connect, overrides=SMALL_INDEXES).start()
    yield running
    running.kill()


def fill(client: RawClient, partition: int, value_size: int) -> tuple[list[bytes], ErrorCode]:
    """Write until it fails: what was acknowledged, and the error."""
    chance = random.Random(9)
    written: list[bytes] = []
    while True:
        value = chance.randbytes(value_size)
        code, _ = wire.try_produce(client, TOPIC, [value], partition=partition, acks=-1)
        if code is not ErrorCode.NONE:
            return written, code
        written.append(value)
        assert len(written) * value_size < 2 * LIMIT_BYTES


def assert_told_once(said: str, directory: Path) -> None:
    """A write that is cut short is a disk without room: that is said with its cause, and needs no trace."""
    (told,) = [line for line in said.splitlines() if "No space is left in" in line]
    assert f". No space is left in {directory}: free some and start again." in told
    assert f"Error while appending records to {TOPIC}-0 in dir {directory}: [Errno {errno.ENOSPC}]" in told
    assert "Traceback" not in said


# Below and above the size from which a write goes to the thread pool.
@pytest.mark.parametrize("value_size", [10_000, 100_000])
def test_a_directory_that_fails_takes_only_its_own_partitions_offline(two_dirs: OurBroker, value_size: int) -> None:
    broker = two_dirs
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, TOPIC, 2)
        directory = next(broker.folder.glob(f"[ab]/{TOPIC}-0")).parent
        assert not (directory / f"{TOPIC}-1").exists()
        wire.write(client, TOPIC, [b"the other"], partition=1)
        let_files_grow_to(broker, LIMIT_BYTES)
        written, code = fill(client, 0, value_size)
        assert code is ErrorCode.KAFKA_STORAGE_ERROR
        assert len(written) >= LIMIT_BYTES // value_size - 1
        assert wire.write(client, TOPIC, [b"the other goes on"], partition=1) == 1
        wait_until(lambda: wire.topic_error(client, TOPIC) in OFFLINE, "Metadata shows the partition offline")
        assert wire.try_produce(client, TOPIC, [b"x"])[0] in OFFLINE
        assert wire.try_fetch(client, TOPIC, 0)[0] in OFFLINE
        wire.create_topic(client, "new", 3)
        wire.write(client, "new", [b"in the directory that works"], partition=2)
    broker.says(f"Stopping serving logs in dir {directory}")
    assert_told_once(broker.process.output(), directory)
    assert broker.stop() == 143
    assert not (directory / ".kafka_cleanshutdown").exists()
    broker.start()
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        assert [record.value for record in wire.read(client, TOPIC)] == written
        assert wire.write(client, TOPIC, [b"again"]) == len(written)
        assert len(list(wire.read(client, TOPIC, partition=1))) == 2


def test_a_broker_ends_when_all_its_directories_have_failed(one_dir: OurBroker) -> None:
    broker = one_dir
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, TOPIC)
        let_files_grow_to(broker, LIMIT_BYTES)
        written: list[bytes] = []
        try:
            written, code = fill(client, 0, 10_000)
        except ConnectionClosed:
            code = ErrorCode.KAFKA_STORAGE_ERROR
        assert code is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.process.wait() == 1
    said = broker.process.output()
    assert f"Shutdown broker because all log dirs in {broker.log_dir} have failed" in said
    assert_told_once(said, broker.log_dir)
    broker.start()
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        assert [record.value for record in wire.read(client, TOPIC)][: len(written)] == written
