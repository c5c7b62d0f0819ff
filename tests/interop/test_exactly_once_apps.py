"""Kafka Streams and Kafka Connect, 3.9.1 and unmodified, exactly once: whatever is killed, readers of committed data
find the effect of each record once.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from tests.interop.chains.cluster import APACHE_ONLY, CLUSTERS, MIXED, OURS, Cluster
from tests.interop.test_apps import STREAMS, started
from tests.support.apache import classpath_with_apps, java
from tests.support.broker import OurBroker
from tests.support.chaos import Worker
from tests.support.connect import FILE_CONNECTORS, STARTS_S, ConnectWorker
from tests.support.librdkafka import PATIENCE_S
from tests.support.processes import ChildProcess, wait_until

PARTITIONS = 2
WORDS = tuple(f"word{number}" for number in range(20))
STREAMS_SETTINGS = (
    "processing.guarantee=exactly_once_v2",
    # Each new count of a word is told, and not only the last of a transaction.
    "statestore.cache.max.bytes=0",
    # Most of the time a transaction is open, and a part of it is in the log.
    "commit.interval.ms=500",
    "producer.linger.ms=0",
)
CONNECT_SETTINGS = {
    "exactly.once.source.support": "enabled",
    **{f"{kind}.storage.replication.factor": "2" for kind in ("config", "offset", "status")},
}
RECORDS_BETWEEN = 300
"""That are committed before each kill."""
BESIDE = [pytest.param(kind, marks=pytest.mark.slow) for kind in (APACHE_ONLY, MIXED)]
"""The same on Apache's brokers, and on one of Apache's and one of ours, which are killed in turn."""


@pytest.fixture(params=[OURS, *BESIDE])
def cluster(request: pytest.FixtureRequest, tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    built = Cluster(tmp_path, zookeeper_connect, CLUSTERS[request.param])
    yield built
    built.close()
    for broker in built.brokers:
        if isinstance(broker, OurBroker):
            assert "Traceback" not in broker.process.output()


class Committed:
    """What a reader of committed data has read of a topic; another reader sees what is not committed yet."""

    def __init__(self, cluster: Cluster, topic: str, partitions: int) -> None:
        self._clients = cluster.clients
        self._partitions = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)]
        self._ahead = self._reader("read_uncommitted")
        self._consumer = self._reader("read_committed")
        self._read: list[Message] = []

    def _reader(self, isolation_level: str) -> Consumer:
        consumer = self._clients.consumer(isolation_level=isolation_level)
        consumer.assign(self._partitions)
        return consumer

    def read(self) -> list[Message]:
        """All until now, each partition in its order."""
        self._ahead.consume(500, 0.1)
        self._read += [each for each in self._consumer.consume(500, 0.1) if each.error() is None]
        return self._read

    def wait_for_more(self, what: str) -> None:
        """Until more is committed, and a transaction is open that has written something already."""
        self.wait_for(len(self._read) + RECORDS_BETWEEN, f"{what}: more records are committed")
        wait_until(self._is_one_open, f"{what}: a transaction is open", 2 * PATIENCE_S)

    def wait_for(self, record_count: int, what: str) -> None:
        """As long as it goes on: how much there is to read depends on how long others took."""
        count, since_s = 0, time.monotonic()
        while len(self.read()) < record_count:
            if len(self._read) > count:
                count, since_s = len(self._read), time.monotonic()
            assert time.monotonic() - since_s < STARTS_S, f"{what}: nothing came after {count} of {record_count}"

    def _is_one_open(self) -> bool:
        self.read()
        ends = zip(self._consumer.position(self._partitions), self._ahead.position(self._partitions), strict=True)
        return any(committed.offset < seen.offset for committed, seen in ends)

    def read_to_the_end(self) -> list[Message]:
        """When nobody writes any more."""
        # A client that has seen no kill: librdkafka may answer "Unknown partition" after one and ask no broker again.
        asking = self._clients.consumer()

        def is_at_the_end() -> bool:
            self.read()
            return all(
                here.offset >= asking.get_watermark_offsets(here, PATIENCE_S)[1]
                for here in self._consumer.position(self._partitions)
            )

        wait_until(is_at_the_end, "no transaction holds back the reader")
        return self._read


class Lines(Worker):
    """Writes lines of four words to a topic, each of them once, until it is stopped."""

    def __init__(self, cluster: Cluster, topic: str, chance: random.Random) -> None:
        super().__init__("lines")
        self.words: Counter[str] = Counter()
        self._topic, self._chance = topic, chance
        self._producer = cluster.clients.producer(enable_idempotence=True, linger_ms=5)

    def turn(self) -> None:
        words = self._chance.choices(WORDS, k=4)
        self._producer.produce(self._topic, " ".join(words), on_delivery=self._delivered)
        self.words.update(words)
        self._producer.poll(0.02)

    def end(self) -> None:
        assert self._producer.flush(2 * PATIENCE_S) == 0

    def _delivered(self, error: object, _: Message) -> None:
        assert error is None, error


class FileLines(Worker):
    """Adds lines to a file until it is stopped."""

    def __init__(self, path: Path) -> None:
        super().__init__("file")
        self.lines: list[str] = []
        self._path = path

    def turn(self) -> None:
        new = [f"line {len(self.lines) + number}" for number in range(5)]
        with self._path.open("a") as file:
            file.writelines(f"{line}\n" for line in new)
        self.lines += new
        self.stopping.wait(0.05)


def test_streams_counts_each_word_once_whatever_is_killed(
    cluster: Cluster, chance: random.Random, tmp_path: Path
) -> None:
    for topic in ("lines", "counts"):
        cluster.create(topic, PARTITIONS)

    def instance(name: str) -> ChildProcess:
        arguments = (cluster.bootstrap, "exactly-once", "lines", "counts", str(tmp_path / name))
        return ChildProcess(
            java(str(STREAMS), *arguments, *STREAMS_SETTINGS, class_path=classpath_with_apps()),
            tmp_path / f"{name}.log",
        )

    def kill(app: ChildProcess, next_one: ChildProcess) -> None:
        app.kill()
        next_one.start()

    first, second = instance("first"), instance("second")
    counts = Committed(cluster, "counts", PARTITIONS)
    lines = Lines(cluster, "lines", chance)
    with started(first), ExitStack() as stack:
        stack.callback(second.kill)
        stack.callback(lines.stopping.set)
        lines.start()
        kills = (
            lambda: kill(first, first),
            lambda: cluster.kill_and_start(0),
            # In another directory it has other transactional ids: nobody but the coordinator ends what was open.
            lambda: kill(first, second),
            lambda: cluster.kill_and_start(1),
            lambda: kill(second, second),
        )
        for number, kill_one in enumerate(kills):
            counts.wait_for_more(f"before kill {number}")
            kill_one()
        counts.wait_for_more("after all kills")
        lines.stop()
        counts.wait_for(lines.words.total(), "all words are counted")
        assert second.stop() == 143
        second.says("closed NOT_RUNNING")
    told: dict[str, list[int]] = {}
    for message in counts.read_to_the_end():
        told.setdefault(message.key().decode(), []).append(int.from_bytes(message.value(), "big"))
    assert told == {word: list(range(1, count + 1)) for word, count in lines.words.items()}


@pytest.mark.slow
def test_connect_carries_each_line_once_whatever_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    cluster.create("lines", 1)
    workers = {
        worker.id: worker
        for worker in (
            ConnectWorker(tmp_path / name, cluster.bootstrap, overrides=CONNECT_SETTINGS)
            for name in ("first", "second")
        )
    }
    asked = next(iter(workers.values()))

    def kill_the_one_at_work() -> None:
        wait_until(lambda: asked.tasks("source"), "the task runs", STARTS_S)
        victim = workers[asked.tasks("source")["source"]]
        victim.process.kill()
        victim.process.start()

    committed = Committed(cluster, "lines", 1)
    source = FileLines(tmp_path / "source.txt")
    with ExitStack() as stack:
        for worker in workers.values():
            stack.enter_context(started(worker.process))
        stack.callback(source.stopping.set)
        source.start()
        asked.configure(
            "source",
            connector_class=f"{FILE_CONNECTORS}SourceConnector",
            exactly_once_support="required",
            # Several polls of the file are a transaction.
            transaction_boundary="interval",
            transaction_boundary_interval_ms="2500",
            tasks_max="1",
            file=str(tmp_path / "source.txt"),
            topic="lines",
        )
        kills = (
            kill_the_one_at_work,
            lambda: cluster.kill_and_start(0),
            kill_the_one_at_work,
            lambda: cluster.kill_and_start(1),
        )
        for number, kill in enumerate(kills):
            committed.wait_for_more(f"before kill {number}")
            kill()
        committed.wait_for_more("after all kills")
        source.stop()
        assert [worker.process.stop() for worker in workers.values()] == [143, 143]
    found = [message.value().decode() for message in committed.read_to_the_end()]
    assert found == source.lines[: len(found)]
