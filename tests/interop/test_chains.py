"""Chains of transactions: what links of any client carry from topic to topic arrives once each and in its order, while
links and brokers are killed."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition

from tests.interop.chains.cluster import APACHE_ONLY, CLUSTERS, OURS, Cluster
from tests.interop.chains.link import FENCED, transformed
from tests.support.apache import java
from tests.support.librdkafka import Librdkafka, Written, offsets_committed_by
from tests.support.processes import ChildProcess, wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

JAVA, LIBRDKAFKA, KAFKA_PYTHON = "java", "confluent", "python"
PROGRAM = Path(__file__).parent / "java" / "ChainLink.java"
PARTITIONS, RECORDS = 4, 1_000


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp(f"chains-{request.param}")
    built = Cluster(folder, fresh_chroot(zookeeper, folder.name), CLUSTERS[request.param])
    yield built
    built.close()


class Links:
    """The links of one chain, by transactional id; one that was fenced is started again."""

    def __init__(self, folder: Path, client: str, *arguments: str) -> None:
        self._folder, self._client, self._arguments = folder, client, arguments
        self._running: dict[str, ChildProcess] = {}
        self._starts = count(1)

    def start(self, txn: str) -> None:
        arguments = [*self._arguments, txn]
        if self._client == JAVA:
            command = java(str(PROGRAM), *arguments)
        else:
            command = [sys.executable, "-m", f"tests.interop.chains.{self._client}", *arguments]
        self._running[txn] = ChildProcess(command, self._folder / f"{next(self._starts)}-{txn}.log")
        self._running[txn].start()

    def kill_and_start(self, txn: str) -> None:
        self._running[txn].kill()
        self.start(txn)

    def look_after(self) -> None:
        for txn, process in self._running.items():
            if not process.is_running:
                code = process.wait()
                assert code == FENCED, f"{txn} ended with {code}:\n{process.output()[-3000:]}"
                self.start(txn)

    def stop(self) -> None:
        for txn, process in self._running.items():
            code = process.stop()
            assert code in (0, -signal.SIGTERM, 128 + signal.SIGTERM, FENCED), (
                f"{txn} ended with {code}:\n{process.output()[-3000:]}"
            )

    def kill(self) -> None:
        for process in self._running.values():
            process.kill()


class Sink:
    """What was committed, by partition, as a reader of a committed world sees it."""

    def __init__(self, kafka: Librdkafka, topic: str) -> None:
        self._consumer = kafka.consumer(isolation_level="read_committed")
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
        self.values: list[list[bytes]] = [[] for _ in range(PARTITIONS)]

    def count(self) -> int:
        found: list[Message] = self._consumer.consume(1_000, 0.1)
        for message in found:
            if message.error() is None:
                self.values[message.partition()].append(message.value())
        return sum(map(len, self.values))


IN_FULL = pytest.mark.slow


# Not yet: the mixed cluster.
@pytest.mark.parametrize(
    ("cluster", "client", "killed"),
    [
        (APACHE_ONLY, JAVA, (0,)),
        (APACHE_ONLY, LIBRDKAFKA, (1,)),
        (APACHE_ONLY, KAFKA_PYTHON, (0,)),
        *(pytest.param(APACHE_ONLY, client, (1, 0, 1), marks=IN_FULL) for client in (JAVA, LIBRDKAFKA, KAFKA_PYTHON)),
        (OURS, JAVA, (0,)),
        (OURS, LIBRDKAFKA, (1,)),
        (OURS, KAFKA_PYTHON, (0,)),
    ],
    indirect=["cluster"],
)
def test_each_record_arrives_once_and_in_its_order(
    cluster: Cluster, client: str, killed: tuple[int, ...], tmp_path: Path
) -> None:
    kafka = cluster.clients
    source, sink, group = (f"{client}-{what}-{tmp_path.name}" for what in ("source", "sink", "group"))
    for topic in (source, sink):
        cluster.create(topic, PARTITIONS)
    written = [[b"%d %d" % (partition, number) for number in range(RECORDS)] for partition in range(PARTITIONS)]
    for partition, values in enumerate(written):
        kafka.write(source, [Written(value) for value in values], partition=partition, enable_idempotence=True)
    links, arrived = Links(tmp_path, client, cluster.bootstrap, source, sink, group), Sink(kafka, sink)

    def wait_for(part: float) -> None:
        wanted = int(PARTITIONS * RECORDS * part)

        def are_there() -> bool:
            links.look_after()
            return arrived.count() >= wanted

        wait_until(are_there, f"{wanted} records arrive", timeout_s=120)

    try:
        for txn in ("left", "right"):
            links.start(f"{group}-{txn}")
        wait_for(0.1)
        links.kill_and_start(f"{group}-left")
        for round_number, number in enumerate(killed, 1):
            wait_for(0.1 + 0.6 * round_number / len(killed))
            cluster.kill_and_start(number)
            links.kill_and_start(f"{group}-right")
        wait_for(1)
        links.stop()
    finally:
        links.kill()
    assert arrived.values == [[transformed(value) for value in values] for values in written]
    partitions = [TopicPartition(source, number) for number in range(PARTITIONS)]
    assert offsets_committed_by(kafka.consumer(group_id=group), partitions) == [RECORDS] * PARTITIONS
