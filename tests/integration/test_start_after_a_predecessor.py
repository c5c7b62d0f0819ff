"""A start meets the registration of a killed predecessor whose session nobody could end: one of Apache's brokers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.zk.znodes import BrokerIdZNode, BrokerRegistration
from tests.support.broker import OurBroker
from tests.support.processes import free_port, wait_until
from tests.support.znodes import broker_epoch

ID = 0
PATH = BrokerIdZNode.path(ID)


class Start:
    """A broker that is to start while the session `dead` holds its id and, unless told otherwise, its address."""

    def __init__(self, folder: Path, connect: str) -> None:
        self.port = free_port()
        listeners = {"listeners": f"PLAINTEXT://127.0.0.1:{self.port}", "zookeeper.session.timeout.ms": "30000"}
        self.broker = OurBroker(folder, connect, broker_id=ID, overrides=listeners)
        self.connect = connect
        self.dead, self.alive = client(connect), client(connect)
        self.dead.ensure_path("/brokers/ids")

    def register(self, *, port: int | None = None) -> None:
        self.dead.create(PATH, self._registration(port or self.port), ephemeral=True)

    def take_over(self) -> None:
        """In one step: the broker must not find the id free."""
        step = self.alive.transaction()
        step.delete(PATH)
        step.create(PATH, self._registration(self.port), ephemeral=True)
        assert not [result for result in step.commit() if isinstance(result, Exception)]

    def wait_for_a_line_a_second(self) -> None:
        session_id, _ = self.dead.client_id
        waited_for = f"Waiting for session 0x{session_id:x} of an earlier run of this broker, which still holds {PATH}"
        self.broker.says(waited_for, " s at most", times=2)

    def close(self) -> None:
        self.broker.kill()
        for each in (self.dead, self.alive):
            end(each)

    def _registration(self, port: int) -> bytes:
        return BrokerIdZNode.encode(BrokerRegistration(ID, (EndPoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", port),)))


def client(connect: str) -> KazooClient:
    """Its heartbeats come from a thread: waiting for the broker must not end the session."""
    made = KazooClient(connect, timeout=30)
    made.start()
    return made


def end(ended: KazooClient) -> None:
    ended.stop()
    ended.close()


@pytest.fixture
def start(tmp_path: Path, zookeeper_connect: str) -> Iterator[Start]:
    made = Start(tmp_path, zookeeper_connect)
    yield made
    made.close()


def test_a_start_waits_until_the_session_of_its_predecessor_has_ended(start: Start) -> None:
    start.register()
    first_epoch = broker_epoch(start.connect, ID)
    start.broker.launch()
    start.wait_for_a_line_a_second()
    end(start.dead)
    start.broker.wait_ready()
    epoch = broker_epoch(start.connect, ID)
    assert first_epoch is not None and epoch is not None and epoch > first_epoch
    assert " ERROR " not in start.broker.process.output()


def test_a_start_that_waits_ends_when_somebody_registers_meanwhile(start: Start) -> None:
    start.register()
    start.broker.launch()
    start.wait_for_a_line_a_second()
    start.take_over()
    assert start.broker.process.wait(30) == 1
    assert "node already exists" in start.broker.process.output()


@pytest.mark.slow
def test_a_start_does_not_wait_for_another_address(start: Start) -> None:
    start.register(port=free_port())
    assert start.broker.run_to_its_end() == 1
    assert "Waiting for session" not in start.broker.process.output()


def test_a_start_that_waits_can_be_stopped_and_leaves_the_registration(start: Start) -> None:
    start.register()
    epoch = broker_epoch(start.connect, ID)
    start.broker.launch()
    start.wait_for_a_line_a_second()
    start.broker.stop()
    wait_until(lambda: not start.broker.process.is_running, "the broker has stopped", 30)
    assert broker_epoch(start.connect, ID) == epoch is not None
