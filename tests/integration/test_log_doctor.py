"""A cluster whose ZooKeeper is lost: its two brokers come back with the znodes that their directories imply."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic

from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka, Written, take
from tests.support.processes import wait_until
from tests.support.znodes import looking_at
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

GROUP, TOPIC, RECORDS = "readers", "kept", 300


@pytest.fixture
def brokers(tmp_path: Path, zookeeper: ZooKeeperServer) -> Iterator[list[OurBroker]]:
    connect = fresh_chroot(zookeeper, "lost")
    both = [make_broker(tmp_path, connect, broker_id) for broker_id in (1, 2)]
    yield both
    for broker in both:
        broker.kill()


def make_broker(folder: Path, connect: str, broker_id: int) -> OurBroker:
    return OurBroker(
        folder / f"{connect.rpartition('/')[2]}-{broker_id}",
        connect,
        broker_id=broker_id,
        log_dir=folder / f"data-{broker_id}",
    )


def doctor(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "kafka_zk.tools.log_doctor", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def clients_of(brokers: list[OurBroker]) -> Librdkafka:
    clients = Librdkafka(brokers[0].bootstrap)
    wait_until(lambda: len(clients.admin.list_topics(timeout=PATIENCE_S).brokers) == len(brokers), "both brokers")
    return clients


def replicas(clients: Librdkafka) -> dict[int, tuple[set[int], set[int]]]:
    """Partition -> its replicas, and those in sync."""
    found = clients.admin.list_topics(TOPIC, timeout=PATIENCE_S).topics[TOPIC].partitions
    return {index: (set(each.replicas), set(each.isrs)) for index, each in found.items()}


def test_every_record_is_served_from_znodes_made_anew(
    brokers: list[OurBroker], tmp_path: Path, zookeeper: ZooKeeperServer
) -> None:
    for broker in brokers:
        broker.start()
    clients = clients_of(brokers)
    clients.admin.create_topics([NewTopic(TOPIC, 3, 2)], operation_timeout=PATIENCE_S)[TOPIC].result(PATIENCE_S)
    written = [Written(b"value %d" % number, b"%d" % number) for number in range(RECORDS)]
    clients.write(TOPIC, written, enable_idempotence=True)
    reader = clients.consumer(group_id=GROUP)
    reader.subscribe([TOPIC])
    take(reader, RECORDS)
    reader.commit(asynchronous=False)
    before = values(clients)
    clients.close()
    brokers[0].stop()
    brokers[1].kill()

    lost_and_found = fresh_chroot(zookeeper, "found")
    directories = [broker.log_dir for broker in brokers]
    made = doctor("--znodes", "--apply", "--zookeeper", lost_and_found, *directories)
    assert made.returncode == 0, made.stderr
    returned = [make_broker(tmp_path, lost_and_found, broker.broker_id) for broker in brokers]
    try:
        for broker in returned:
            broker.start()
        clients = clients_of(returned)
        wait_until(lambda: replicas(clients) == {index: ({1, 2}, {1, 2}) for index in range(3)}, "all replicas in sync")
        assert values(clients) == before
        # The group knows where it was, and a new producer is nobody's repetition.
        clients.write(TOPIC, [Written(b"new", b"n")], enable_idempotence=True)
        reader = clients.consumer(group_id=GROUP)
        reader.subscribe([TOPIC])
        assert [message.value() for message in take(reader, 1)] == [b"new"]
        clients.close()
        refused = doctor("--znodes", "--apply", "--zookeeper", lost_and_found, *directories)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "is in use: process" in refused.stderr
    finally:
        for broker in returned:
            broker.kill()


def values(clients: Librdkafka) -> dict[int, list[bytes]]:
    found = {}
    for partition in range(3):
        _, end = clients.consumer().get_watermark_offsets(TopicPartition(TOPIC, partition), PATIENCE_S)
        found[partition] = [message.value() for message in clients.read(TOPIC, end, partition=partition)]
    assert sum(map(len, found.values())) >= RECORDS
    return found


def test_what_is_there_already_stays_unless_overwriting_is_asked_for(
    brokers: list[OurBroker], zookeeper: ZooKeeperServer
) -> None:
    broker = brokers[0].start()
    clients = Librdkafka(broker.bootstrap)
    clients.admin.create_topics([NewTopic(TOPIC, 1, 1)], operation_timeout=PATIENCE_S)[TOPIC].result(PATIENCE_S)
    clients.close()
    broker.stop()
    connect = fresh_chroot(zookeeper, "kept")
    path, other = f"/brokers/topics/{TOPIC}", b'{"version":3,"partitions":{"0":[7]}}'
    with looking_at(connect) as client:
        client.ensure_path(path)
        client.set(path, other)
    options = ("--znodes", "--apply", "--zookeeper", connect, broker.log_dir)
    kept = doctor(*options)
    assert kept.returncode == 2
    assert f"kept: {path}" in kept.stdout
    with looking_at(connect) as client:
        assert client.get(path)[0] == other
    replaced = doctor(*options, "--overwrite")
    assert replaced.returncode == 0
    assert f"replaced: {path}" in replaced.stdout
    assert f"it contained {other.decode()}" in replaced.stdout
    with looking_at(connect) as client:
        assert json.loads(client.get(path)[0])["partitions"] == {"0": [1]}


def test_a_cluster_that_lives_is_not_written_to(brokers: list[OurBroker]) -> None:
    for broker in brokers:
        broker.start()
    clients_of(brokers).close()
    brokers[0].stop()
    server = (brokers[1].folder / "server.properties").read_text()
    connect = next(line.partition("=")[2] for line in server.splitlines() if line.startswith("zookeeper.connect="))
    refused = doctor("--znodes", "--apply", "--zookeeper", connect, brokers[0].log_dir)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "brokers 2 are still registered in this ZooKeeper; stop them first" in refused.stderr
