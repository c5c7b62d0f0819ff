"""The end of a broker: by signal clean and soon, whoever is connected; and the next start finds nothing to recover."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from kafka_zk.protocol.messages import fetch
from tests.support import wire, znodes
from tests.support.broker import OurBroker
from tests.support.processes import accepts_connections, free_port, wait_until
from tests.support.raw_client import RawClient

TOPIC = "kept"
IDLE_STOP_S = 25
BUSY_STOP_S = 25
"""Below any time-out that a stop could run into; far above what it takes, because other work shares the machine."""
CLEAN_MARKER = ".kafka_cleanshutdown"


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path, zookeeper_connect).start()
    with RawClient(running.bootstrap) as client:
        wire.create_topic(client, TOPIC, 3)
        for partition in range(3):
            wire.write(client, TOPIC, [b"value"] * 10, partition=partition)
    yield running
    running.kill()


def assert_next_start_recovers_nothing(broker: OurBroker) -> None:
    assert (broker.log_dir / CLEAN_MARKER).exists()
    broker.start()
    broker.says(f"Skipping recovery of 3 logs from {broker.log_dir}")
    said = broker.process.output()
    assert "Recovering unflushed segment" not in said
    assert "Closing ZooKeeper session" not in said
    assert not (broker.log_dir / CLEAN_MARKER).exists()
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        assert [record.offset for record in wire.read(client, TOPIC, partition=2)] == list(range(10))


@pytest.mark.parametrize(
    ("how", "exit_code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
    ids=lambda each: str(each),
)
def test_a_signal_ends_an_idle_broker_at_once_and_cleanly(
    broker: OurBroker, zookeeper_connect: str, how: signal.Signals, exit_code: int
) -> None:
    began = time.monotonic()
    assert broker.process.stop(how) == exit_code
    assert time.monotonic() - began < IDLE_STOP_S
    assert znodes.broker_epoch(zookeeper_connect) is None
    assert znodes.controller_id(zookeeper_connect) is None
    broker.says(f"Received {how.name}, shutting down")
    assert "Traceback" not in broker.process.output()
    assert_next_start_recovers_nothing(broker)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda each: str(each))
def test_a_signal_while_the_program_is_still_being_loaded_leaves_no_traceback(
    tmp_path: Path, zookeeper_connect: str, how: signal.Signals
) -> None:
    broker = OurBroker(tmp_path, zookeeper_connect)
    broker.launch()
    # Its logs are set up just before the broker's code is loaded, which takes a third of a second.
    wait_until((tmp_path / "logs" / "server.log").exists, "the program has begun")
    assert broker.process.stop(how) in (128 + how, -how)
    assert "Traceback" not in broker.process.output()


def test_clients_that_wait_do_not_delay_the_end(broker: OurBroker) -> None:
    with ExitStack() as crowd:
        pollers = [crowd.enter_context(RawClient(broker.bootstrap)) for _ in range(50)]
        request = wire.fetch_request(TOPIC, 10, max_wait_ms=60_000, min_bytes=1_000_000)
        for poller in pollers:
            poller.post(fetch.FETCH_REQUEST, request, 11)
        for _ in range(50):
            crowd.enter_context(RawClient(broker.bootstrap))
        members = [group_member(broker) for _ in range(2)]
        wait_until_each_has_read(members)
        began = time.monotonic()
        assert broker.stop() == 143
        assert time.monotonic() - began < BUSY_STOP_S
        for member in members:
            member.close()
    assert "Traceback" not in broker.process.output()
    assert (broker.log_dir / CLEAN_MARKER).exists()


def wait_until_each_has_read(members: list[Consumer]) -> None:
    """Not both at one moment: the first may have read all of its few records before the second has any."""
    waiting = list(members)

    def poll() -> bool:
        for member in members:
            if member.poll(0.1) is not None and member in waiting:
                waiting.remove(member)
        return not waiting

    wait_until(poll, "each member has read something")


def group_member(broker: OurBroker) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "members",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
            "broker.address.family": "v4",
        }
    )
    consumer.subscribe([TOPIC])
    return consumer


def test_further_signals_are_harmless(broker: OurBroker) -> None:
    for _ in range(3):
        os.kill(broker.process.pid, signal.SIGTERM)
    assert broker.stop() == 143
    assert "Traceback" not in broker.process.output()
    assert_next_start_recovers_nothing(broker)


def test_a_signal_ends_a_start_that_still_waits_for_zookeeper(tmp_path: Path) -> None:
    overrides = {"zookeeper.connection.timeout.ms": "60000"}
    broker = OurBroker(tmp_path, f"127.0.0.1:{free_port()}", overrides=overrides)
    broker.launch()
    wait_until(lambda: "Connecting to zookeeper" in broker.process.output(), "the broker waits for ZooKeeper")
    began = time.monotonic()
    assert broker.stop() == 143
    assert time.monotonic() - began < BUSY_STOP_S
    assert "Traceback" not in broker.process.output()


def test_the_port_is_free_at_once_after_the_end(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        assert broker.stop() == 143
        assert not accepts_connections(broker.port)
    assert_next_start_recovers_nothing(broker)
