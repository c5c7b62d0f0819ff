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

from tests.interop.chains.cluster import APACHE_ONLY, CLUSTERS, GROUPS, MIXED, OURS, TRANSACTIONS, Cluster
from tests.interop.chains.link import FENCED, held_file, transformed
from tests.support.apache import java
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka, Written, offsets_committed_by
from tests.support.processes import ChildProcess, wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

CLIENTS = JAVA, LIBRDKAFKA, KAFKA_PYTHON, OUR_CLIENT = "java", "confluent", "python", "ours"
PROGRAM = Path(__file__).parent / "java" / "ChainLink.java"
PARTITIONS, RECORDS = 4, 1_000
A_FEW = 10
"""Records of a partition that are in one transaction."""


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp(f"chains-{request.param}")
    built = Cluster(folder, fresh_chroot(zookeeper, folder.name), CLUSTERS[request.param])
    yield built
    built.close()
    for broker in built.brokers:
        if isinstance(broker, OurBroker):
            assert "Traceback" not in broker.process.output()


class Links:
    """The links of one chain, by transactional id; one that was fenced is started again."""

    def __init__(self, folder: Path, client: str, *arguments: str) -> None:
        self._folder, self._client, self._arguments = folder, client, arguments
        self._gate = folder / "gate"
        self._running: dict[str, ChildProcess] = {}
        self._starts = count(1)

    def start(self, txn: str) -> None:
        arguments = [*self._arguments, txn, str(self._gate)]
        if self._client == JAVA:
            command = java(str(PROGRAM), *arguments)
        else:
            command = [sys.executable, "-m", f"tests.interop.chains.{self._client}", *arguments]
        self._running[txn] = ChildProcess(command, self._folder / f"{next(self._starts)}-{txn}.log")
        self._running[txn].start()

    def kill_and_start(self, txn: str) -> None:
        self._running[txn].kill()
        self.start(txn)

    def close_gate(self) -> None:
        """From now on they wait before the end of their transactions."""
        self._gate.touch()

    def all_wait(self) -> bool:
        self.look_after()
        return all(held_file(self._gate, txn).exists() for txn in self._running)

    def open_gate(self) -> None:
        for txn in self._running:
            held_file(self._gate, txn).unlink()
        self._gate.unlink()

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


class Chain:
    """Two links from a topic `source` to a topic `sink`, which exist."""

    def __init__(self, kafka: Librdkafka, client: str, folder: Path, source: str, sink: str, group: str) -> None:
        self._kafka, self._source, self._sink, self._group = kafka, source, sink, group
        self.links = Links(folder, client, kafka.bootstrap, source, sink, group)
        self._arrived = Sink(kafka, sink)
        self._written: list[list[bytes]] = [[] for _ in range(PARTITIONS)]

    def write(self, record_count: int) -> None:
        """So many more to each partition of the source."""
        for partition, written in enumerate(self._written):
            values = [b"%d %d" % (partition, len(written) + number) for number in range(record_count)]
            records = map(Written, values)
            self._kafka.write(self._source, records, partition=partition, enable_idempotence=True)
            written += values

    def wait_for(self, part: float) -> None:
        """Until that part of what is written has arrived."""
        wanted = int(sum(map(len, self._written)) * part)

        def are_there() -> bool:
            self.links.look_after()
            return self._arrived.count() >= wanted

        wait_until(are_there, f"{wanted} records arrive", timeout_s=120)

    def check(self) -> None:
        """When the links have ended: all arrived, once and in its order, and that is what the group has committed.

        Also for a reader who comes now, and meets what was aborted at whoever leads by now.
        """
        expected = [[transformed(value) for value in values] for values in self._written]
        assert self._arrived.values == expected
        late = Sink(self._kafka, self._sink)
        wait_until(lambda: late.count() >= sum(map(len, expected)), "a late reader gets all")
        assert late.values == expected
        partitions = [TopicPartition(self._source, number) for number in range(PARTITIONS)]
        committed = offsets_committed_by(self._kafka.consumer(group_id=self._group), partitions)
        assert committed == [len(values) for values in self._written]


IN_FULL = pytest.mark.slow


@pytest.mark.parametrize(
    ("client", "killed"),
    [
        (JAVA, (0,)),
        (LIBRDKAFKA, (1,)),
        (KAFKA_PYTHON, (0,)),
        *(pytest.param(client, (1, 0, 1), marks=IN_FULL) for client in CLIENTS),
    ],
)
@pytest.mark.parametrize("cluster", [APACHE_ONLY, OURS, pytest.param(MIXED, marks=IN_FULL)], indirect=True)
def test_each_record_arrives_once_and_in_its_order(
    cluster: Cluster, client: str, killed: tuple[int, ...], tmp_path: Path
) -> None:
    source, sink, group = (f"{client}-{what}-{tmp_path.name}" for what in ("source", "sink", "group"))
    for topic in (source, sink):
        cluster.create(topic, PARTITIONS)
    chain = Chain(cluster.clients, client, tmp_path, source, sink, group)
    links = chain.links
    chain.write(RECORDS)
    try:
        for txn in ("left", "right"):
            links.start(f"{group}-{txn}")
        chain.wait_for(0.1)
        links.kill_and_start(f"{group}-left")
        for round_number, number in enumerate(killed, 1):
            chain.wait_for(0.1 + 0.6 * round_number / len(killed))
            cluster.kill_and_start(number)
            links.kill_and_start(f"{group}-right")
        chain.wait_for(1)
        links.stop()
    finally:
        links.kill()
    chain.check()


@pytest.mark.parametrize(
    ("client", "coordinator"),
    [
        (JAVA, 1),
        (LIBRDKAFKA, 0),
        *(
            pytest.param(*each, marks=IN_FULL)
            for each in (
                (JAVA, 0),
                (LIBRDKAFKA, 1),
                (KAFKA_PYTHON, 0),
                (KAFKA_PYTHON, 1),
                (OUR_CLIENT, 0),
                (OUR_CLIENT, 1),
            )
        ),
    ],
)
@pytest.mark.parametrize("cluster", [pytest.param(APACHE_ONLY, marks=IN_FULL), OURS, MIXED], indirect=True)
def test_whoever_dies_before_the_end_of_a_transaction_costs_no_record(
    cluster: Cluster, client: str, coordinator: int, tmp_path: Path
) -> None:
    """One broker coordinates the group and the transactions, the other leads the topics."""
    leader = 1 - coordinator
    source, sink = (f"{client}-{what}-{tmp_path.name}" for what in ("source", "sink"))
    for topic in (source, sink):
        cluster.create_on(topic, PARTITIONS, (leader, coordinator))
    group = cluster.name_kept_by(coordinator, f"{client}-{tmp_path.name}", GROUPS)
    left, right = (cluster.name_kept_by(coordinator, f"{group}-{side}", TRANSACTIONS) for side in ("left", "right"))
    chain = Chain(cluster.clients, client, tmp_path, source, sink, group)
    links = chain.links

    def is_shared() -> bool:
        links.look_after()
        found = cluster.group_kept_by(coordinator, group)
        return found.group_state == "Stable" and len(found.members) == len((left, right))

    def both_wait_with_open_transactions() -> None:
        cluster.let_the_first_lead()
        cluster.wait_until_coordinated_by(coordinator, group, GROUPS)
        wait_until(is_shared, f"two links share {group}")
        links.close_gate()
        chain.write(A_FEW)
        wait_until(links.all_wait, "both links wait before the end of a transaction", PATIENCE_S)
        for state in cluster.transactions_kept_by(coordinator, (left, right)):
            assert state.transaction_state == "Ongoing"
            assert {each.topic for each in state.topics} == {sink, GROUPS}

    try:
        for txn in (left, right):
            links.start(txn)
        both_wait_with_open_transactions()
        for txn in (left, right):
            links.kill_and_start(txn)
        links.open_gate()
        chain.wait_for(1)
        for broker in (coordinator, leader):
            both_wait_with_open_transactions()
            cluster.kill(broker)
            links.kill_and_start(left)
            links.open_gate()
            cluster.brokers[broker].start()
            chain.wait_for(1)
        links.stop()
    finally:
        links.kill()
    chain.check()
