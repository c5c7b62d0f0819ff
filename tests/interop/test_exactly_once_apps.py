"""Kafka Streams and Kafka Connect, 3.9.1 and unmodified, exactly once: whatever is killed, readers of committed data
find the effect of each record once.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition

from tests.interop.chains.cluster import APACHE_ONLY, CLUSTERS, OURS, Cluster
from tests.interop.test_apps import STREAMS, started
from tests.support.apache import classpath_with_apps, java
from tests.support.broker import OurBroker
from tests.support.chaos import Worker
from tests.support.connect import FILE_CONNECTORS, ConnectWorker
from tests.support.librdkafka import PATIENCE_S
from tests.support.processes import ChildProcess, wait_until

PARTITIONS = 2
WORDS = tuple(f"word{number}" for number in range(20))
EACH_COUNT = "statestore.cache.max.bytes=0"
"""Streams tells each new count of a word and not only the last of a commit."""
WORDS_BETWEEN = 500
"""That Streams counts before each kill."""
LINES = 1_000
"""That are added to Connect's file before each kill."""
BUFFERED = 1024 // len("line 0\n")
"""Of a file that does not grow, Connect's source may keep the last lines in a buffer."""


BESIDE = pytest.param(APACHE_ONLY, marks=pytest.mark.slow)
"""The same on Apache's brokers."""


@pytest.fixture(params=[BESIDE, OURS])
def cluster(request: pytest.FixtureRequest, tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    built = Cluster(tmp_path, zookeeper_connect, CLUSTERS[request.param])
    yield built
    built.close()
    for broker in built.brokers:
        if isinstance(broker, OurBroker):
            assert "Traceback" not in broker.process.output()


class Committed:
    """What a reader of committed data has read of a topic."""

    def __init__(self, cluster: Cluster, topic: str, partitions: int) -> None:
        self._consumer = cluster.clients.consumer(isolation_level="read_committed")
        self._partitions = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)]
        self._consumer.assign(self._partitions)
        self._read: list[Message] = []

    def read(self) -> list[Message]:
        """All until now, each partition in its order."""
        self._read += [each for each in self._consumer.consume(500, 0.1) if each.error() is None]
        return self._read

    def wait_for_more(self, count: int, what: str) -> None:
        wanted = len(self._read) + count
        wait_until(lambda: len(self.read()) >= wanted, f"{what}: {count} more records are committed", 2 * PATIENCE_S)

    def read_to_the_end(self) -> list[Message]:
        """When nobody writes any more."""

        def is_at_the_end() -> bool:
            self.read()
            return all(
                here.offset >= self._consumer.get_watermark_offsets(here, PATIENCE_S)[1]
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


def test_streams_counts_each_word_once_whatever_is_killed(
    cluster: Cluster, chance: random.Random, tmp_path: Path
) -> None:
    for topic in ("lines", "counts"):
        cluster.create(topic, PARTITIONS)

    def instance(name: str) -> ChildProcess:
        arguments = (cluster.bootstrap, "exactly-once", "lines", "counts", str(tmp_path / name))
        settings = ("processing.guarantee=exactly_once_v2", EACH_COUNT)
        return ChildProcess(
            java(str(STREAMS), *arguments, *settings, class_path=classpath_with_apps()), tmp_path / f"{name}.log"
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
            counts.wait_for_more(WORDS_BETWEEN, f"before kill {number}")
            kill_one()
        counts.wait_for_more(WORDS_BETWEEN, "after all kills")
        lines.stop()
        wait_until(lambda: len(counts.read()) >= lines.words.total(), "all words are counted", 2 * PATIENCE_S)
        assert second.stop() == 143
        assert "closed NOT_RUNNING" in second.output()
    told: dict[str, list[int]] = {}
    for message in counts.read_to_the_end():
        told.setdefault(message.key().decode(), []).append(int.from_bytes(message.value(), "big"))
    assert told == {word: list(range(1, count + 1)) for word, count in lines.words.items()}


@pytest.mark.slow
def test_connect_carries_each_line_once_whatever_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    cluster.create("lines", 1)
    source = tmp_path / "source.txt"
    lines = [f"line {number}" for number in range(5 * LINES)]
    settings = {
        "exactly.once.source.support": "enabled",
        **{f"{kind}.storage.replication.factor": "2" for kind in ("config", "offset", "status")},
    }
    workers = {
        worker.id: worker
        for worker in (
            ConnectWorker(tmp_path / name, cluster.bootstrap, overrides=settings) for name in ("first", "second")
        )
    }

    def add(part: int) -> None:
        with source.open("a") as more:
            more.writelines(f"{line}\n" for line in lines[part * LINES : (part + 1) * LINES])

    def kill_the_one_at_work() -> None:
        asked = next(iter(workers.values()))
        wait_until(lambda: asked.tasks("source"), "the task runs")
        victim = workers[asked.tasks("source")["source"]]
        victim.process.kill()
        victim.process.start()

    committed = Committed(cluster, "lines", 1)
    with ExitStack() as stack:
        for worker in workers.values():
            stack.enter_context(started(worker.process))
        add(0)
        worker.configure(
            "source",
            connector_class=f"{FILE_CONNECTORS}SourceConnector",
            exactly_once_support="required",
            tasks_max="1",
            file=str(source),
            topic="lines",
            batch_size="20",
        )
        kills = (
            kill_the_one_at_work,
            lambda: cluster.kill_and_start(0),
            kill_the_one_at_work,
            lambda: cluster.kill_and_start(1),
        )
        for part, kill in enumerate(kills, 1):
            committed.wait_for_more(LINES // 2, f"before kill {part}")
            kill()
            add(part)
        wait_until(lambda: len(committed.read()) >= len(lines) - BUFFERED, "the lines arrive", 2 * PATIENCE_S)
        assert [worker.process.stop() for worker in workers.values()] == [143, 143]
    found = [message.value().decode() for message in committed.read_to_the_end()]
    assert found == lines[: len(found)]
