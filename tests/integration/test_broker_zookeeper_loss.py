"""ZooKeeper goes away, ends sessions or is missing: the broker serves on, comes back by itself, or says why not."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.broker.membership.session_file import NAME as SESSION_FILE
from tests.support import wire, znodes
from tests.support.broker import OurBroker
from tests.support.kill_load import Writer
from tests.support.processes import free_port, paused, wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, expire_session

TOPIC = "served"
SESSION_TIMEOUT_MS = 1500
# Longer than the session's time-out; the minute is only more of the same.
AWAY_S = 4


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    overrides = {"zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS)}
    running = OurBroker(tmp_path, zookeeper_connect, overrides=overrides).start()
    with RawClient(running.bootstrap) as client:
        wire.create_topic(client, TOPIC)
    yield running
    running.kill()


@pytest.fixture
def writer(broker: OurBroker) -> Iterator[Writer]:
    """Somebody who writes all the time; his connection must hold and no batch may be refused."""
    busy = Writer(broker.bootstrap, TOPIC, 0, acks=-1, chance=random.Random(1), pause_s=0.005)
    busy.start()
    yield busy
    assert busy.is_writing
    busy.stop()
    assert len(busy.acknowledged) == len(busy.sent)
    with RawClient(broker.bootstrap) as client:
        assert {record.offset: record.value for record in wire.read(client, TOPIC)} == busy.acknowledged


def assert_works(broker: OurBroker, topic: str) -> None:
    """A new topic needs ZooKeeper, the controller and the broker's own leadership."""
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, topic)
        assert wire.write(client, topic, [b"value"]) == 0
        assert [record.value for record in wire.read(client, topic)] == [b"value"]


def wait_for_epoch_after(epoch: int, connect: str) -> None:
    wait_until(lambda: (znodes.broker_epoch(connect) or 0) > epoch, "the broker has a new epoch")


def session_of(broker: OurBroker) -> tuple[int, bytes]:
    session = json.loads((broker.log_dir / SESSION_FILE).read_text())
    return session["session_id"], bytes.fromhex(session["password"])


def test_the_broker_serves_while_zookeeper_is_away_and_takes_its_place_again_afterwards(
    broker: OurBroker, writer: Writer, zookeeper: ZooKeeperServer, zookeeper_connect: str
) -> None:
    zookeeper.stop()
    try:
        before = len(writer.acknowledged)
        deadline = time.monotonic() + AWAY_S
        wait_until(lambda: time.monotonic() > deadline, "ZooKeeper was away for a while")
        assert len(writer.acknowledged) > before
        with RawClient(broker.bootstrap) as client:
            assert next(wire.read(client, TOPIC)).offset == 0
    finally:
        zookeeper.start()
    wait_until(lambda: znodes.broker_epoch(zookeeper_connect) is not None, "the broker is registered")
    wait_until(lambda: znodes.controller_id(zookeeper_connect) == 0, "the broker is controller")
    assert_works(broker, "after-the-outage")


def test_a_broker_whose_session_was_ended_registers_in_a_new_epoch_and_is_controller_again(
    broker: OurBroker, writer: Writer, zookeeper: ZooKeeperServer, zookeeper_connect: str
) -> None:
    for number in range(3):
        epoch = znodes.broker_epoch(zookeeper_connect)
        assert epoch is not None
        session_id, password = session_of(broker)
        expire_session(zookeeper, session_id, password)
        wait_for_epoch_after(epoch, zookeeper_connect)
        wait_until(lambda: znodes.controller_id(zookeeper_connect) == 0, "the broker is controller")
        assert session_of(broker)[0] != session_id
        assert_works(broker, f"after-session-{number}")
    broker.says("Session expired", times=3)
    assert broker.process.output().count("Session expired") == 3
    assert "Traceback" not in broker.process.output()


def test_a_broker_that_was_frozen_for_longer_than_its_session_registers_again(
    broker: OurBroker, zookeeper_connect: str
) -> None:
    epoch = znodes.broker_epoch(zookeeper_connect)
    assert epoch is not None
    with paused(broker.process.pid):
        wait_until(lambda: znodes.broker_epoch(zookeeper_connect) is None, "the session has timed out")
    wait_for_epoch_after(epoch, zookeeper_connect)
    wait_until(lambda: znodes.controller_id(zookeeper_connect) == 0, "the broker is controller")
    assert_works(broker, "after-the-pause")
    assert "Traceback" not in broker.process.output()


def test_a_session_that_cannot_be_written_down_does_not_keep_the_broker_out(
    broker: OurBroker, zookeeper: ZooKeeperServer, zookeeper_connect: str
) -> None:
    epoch = znodes.broker_epoch(zookeeper_connect)
    assert epoch is not None
    session_id, password = session_of(broker)
    (broker.log_dir / SESSION_FILE).unlink()
    (broker.log_dir / SESSION_FILE).mkdir()
    expire_session(zookeeper, session_id, password)
    wait_for_epoch_after(epoch, zookeeper_connect)
    assert_works(broker, "after-the-session")
    broker.says("Cannot save the ZooKeeper session")


def test_a_broker_stops_cleanly_while_zookeeper_is_away(
    broker: OurBroker, zookeeper: ZooKeeperServer, zookeeper_connect: str
) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.write(client, TOPIC, [b"kept"])
    zookeeper.stop()
    try:
        assert broker.stop() == 143
    finally:
        zookeeper.start()
    assert (broker.log_dir / ".kafka_cleanshutdown").exists()
    broker.start()
    broker.says("Skipping recovery of 1 logs")
    assert_works(broker, "after-the-stop")


def test_a_start_without_zookeeper_fails_after_the_connection_timeout(tmp_path: Path) -> None:
    overrides = {"zookeeper.connection.timeout.ms": "1000", "zookeeper.session.timeout.ms": "60000"}
    broker = OurBroker(tmp_path, f"127.0.0.1:{free_port()}", overrides=overrides)
    began = time.monotonic()
    assert broker.run_to_its_end() == 1
    # Its own second, not the minute of the session, which is the default.
    assert 1 <= time.monotonic() - began < 45
    broker.says("Timed out waiting for connection while in state: CONNECTING")
    broker.says("Exiting Kafka due to fatal exception during startup")


def test_a_second_broker_with_the_id_of_a_living_one_refuses_to_start(
    broker: OurBroker, tmp_path: Path, zookeeper_connect: str
) -> None:
    second = OurBroker(tmp_path / "second", zookeeper_connect)
    assert second.run_to_its_end() == 1
    said = second.process.output()
    assert "Error while creating ephemeral at /brokers/ids/0, node already exists and owner '0x" in said
    assert "does not match current session '0x" in said
    assert "NodeExists for /brokers/ids/0" in said
    assert_works(broker, "first-lives")


def test_a_second_broker_on_the_directory_of_a_living_one_refuses_to_start(
    broker: OurBroker, tmp_path: Path, zookeeper_connect: str
) -> None:
    second = OurBroker(tmp_path / "second", zookeeper_connect, broker_id=1, log_dir=broker.log_dir)
    assert second.run_to_its_end() == 1
    said = second.process.output()
    assert f"Failed to acquire lock on file .lock in {broker.log_dir}. A Kafka instance in another process" in said
    assert_works(broker, "first-lives")
