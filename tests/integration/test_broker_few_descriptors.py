"""A process that may open few files: partitions and clients share them, and neither takes the other's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_zk.log.segments.open_segments import connections_for
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

LIMIT = 256
PARTITIONS = 120
TOPIC = "many"
WAITING = "new clients wait in the backlog"


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    broker = OurBroker(tmp_path, zookeeper_connect, overrides={"log.index.size.max.bytes": "4096"})
    broker.process.command[:0] = ["sh", "-c", f'ulimit -n {LIMIT}; exec "$@"', "sh"]
    yield broker.start()
    broker.kill()


def open_descriptors(broker: OurBroker) -> int:
    return len(os.listdir(f"/proc/{broker.process.pid}/fd"))


def write_to_all(client: RawClient) -> None:
    for partition in range(PARTITIONS):
        wire.write(client, TOPIC, [b"value"], partition=partition)


def test_more_partitions_than_descriptors_are_made_written_recovered_and_deleted(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, TOPIC, PARTITIONS)
        write_to_all(client)
        assert open_descriptors(broker) < LIMIT - 32
    broker.kill()
    broker.start()
    assert open_descriptors(broker) < LIMIT - 32
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        write_to_all(client)
        wire.delete_topic(client, TOPIC)
    assert "Too many open files" not in broker.process.output()
    assert broker.stop() == 143


def test_clients_beyond_their_share_wait_and_take_nothing_from_the_logs(broker: OurBroker) -> None:
    with ExitStack() as crowd, RawClient(broker.bootstrap) as client:
        wire.create_topic(client, TOPIC, PARTITIONS)
        others = [crowd.enter_context(RawClient(broker.bootstrap)) for _ in range(connections_for(LIMIT) + 30)]
        wait_until(lambda: WAITING in broker.process.output(), "the broker says that clients wait")
        assert broker.process.open_sockets < connections_for(LIMIT) + 8
        write_to_all(client)
        last = others.pop()
        for other in others:
            other.close()
        assert wire.write(last, TOPIC, [b"my turn"]) == 1
    said = broker.process.output()
    assert said.count(WAITING) == 1
    assert "Too many open files" not in said
    assert broker.stop() == 143
