"""Kafka Connect and Kafka Streams, 3.9.1 and unmodified, on our broker: killed like it, they go on where they were."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.support.apache import classpath_with_apps, java
from tests.support.broker import OurBroker
from tests.support.connect import FILE_CONNECTORS, STRING, ConnectWorker, written
from tests.support.librdkafka import Librdkafka, Written
from tests.support.names import fresh
from tests.support.processes import ChildProcess, free_port, wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

STREAMS = Path(__file__).parent / "java" / "WordCount.java"
STANDALONE = "org.apache.kafka.connect.cli.ConnectStandalone"
LINES = ["all streams lead to kafka", "hello kafka streams", "join kafka summit", "kafka kafka"]


@pytest.fixture(scope="module")
def broker(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    settings = {"group.min.session.timeout.ms": "1000"}
    running = OurBroker(tmp_path_factory.mktemp("apps"), fresh_chroot(zookeeper, "apps"), overrides=settings).start()
    yield running
    running.stop()
    assert " ERROR " not in running.process.output() and "Traceback" not in running.process.output()


@contextmanager
def started(process: ChildProcess) -> Iterator[ChildProcess]:
    process.start()
    try:
        yield process
    finally:
        process.kill()


def test_connect_carries_a_file_through_our_broker_and_goes_on_when_both_were_killed(
    broker: OurBroker, tmp_path: Path
) -> None:
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    # Connectors, their topic and their workers' group stay: a second try has others.
    read, write, topic, group = fresh("source"), fresh("sink"), fresh("lines"), fresh("connect")
    lines = [f"line {number}" for number in range(300)]
    source.write_text("".join(f"{line}\n" for line in lines[:100]))
    first = ConnectWorker(tmp_path / "first", broker.bootstrap, group=group)
    with started(first.process):
        common = {"tasks_max": "1"}
        first.configure(
            read, connector_class=f"{FILE_CONNECTORS}SourceConnector", file=str(source), topic=topic, **common
        )
        first.configure(
            write, connector_class=f"{FILE_CONNECTORS}SinkConnector", file=str(sink), topics=topic, **common
        )
        wait_until(lambda: lines_of(sink) == lines[:100], "100 lines arrive")
        wait_until(lambda: first.runs(read, write), "both tasks run")
        broker.kill()
        with source.open("a") as more:
            more.writelines(f"{line}\n" for line in lines[100:200])
        broker.start()
        wait_until(lambda: set(sink.read_text().splitlines()) == set(lines[:200]), "100 more arrive")
        wait_until(lambda: is_at_the_end(broker, f"connect-{write}", topic), "the sink is in the middle of no line")
        first.process.kill()
    with source.open("a") as more:
        more.writelines(f"{line}\n" for line in lines[200:])
    second = ConnectWorker(tmp_path / "second", broker.bootstrap, group=group)
    with started(second.process):  # It is told nothing: the connectors are in the topics.
        wait_until(lambda: set(sink.read_text().splitlines()) == set(lines), "the rest arrives")
    written = sink.read_text().splitlines()
    assert [line for number, line in enumerate(written) if line not in written[:number]] == lines, "in their order"


@pytest.mark.slow
def test_another_worker_takes_over_the_tasks_of_one_that_is_killed(broker: OurBroker, tmp_path: Path) -> None:
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    lines = [f"line {number}" for number in range(200)]
    source.write_text("".join(f"{line}\n" for line in lines[:100]))
    names = ("taken-source", "taken-sink")
    common = {"tasks_max": "1"}
    workers = [ConnectWorker(tmp_path / name, broker.bootstrap, group="taken") for name in ("first", "second")]
    with started(workers[0].process), started(workers[1].process):
        asked, _ = workers
        asked.configure(
            names[0], connector_class=f"{FILE_CONNECTORS}SourceConnector", file=str(source), topic="taken", **common
        )
        asked.configure(
            names[1], connector_class=f"{FILE_CONNECTORS}SinkConnector", file=str(sink), topics="taken", **common
        )
        both = {worker.id for worker in workers}
        wait_until(lambda: set(asked.tasks(*names).values()) == both, "each worker runs a task")
        wait_until(
            lambda: sink.exists() and sink.read_text().splitlines() == lines[:100], "100 lines arrive, once each"
        )
        victim = next(worker for worker in workers if worker.id == asked.tasks(*names)["taken-sink"])
        (other,) = set(workers) - {victim}
        victim.process.kill()
        with source.open("a") as more:
            more.writelines(f"{line}\n" for line in lines[100:])
        wait_until(lambda: other.tasks(*names) == dict.fromkeys(names, other.id), "the other runs both tasks")
        wait_until(lambda: set(sink.read_text().splitlines()) == set(lines), "the rest arrives")
    arrived = sink.read_text().splitlines()
    assert list(dict.fromkeys(arrived)) == lines, "in their order"


@pytest.mark.slow
def test_connect_standalone_carries_each_line_once_over_a_stop_and_a_start(broker: OurBroker, tmp_path: Path) -> None:
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    lines = [f"line {number}" for number in range(200)]
    worker = {
        "bootstrap.servers": broker.bootstrap,
        "key.converter": STRING,
        "value.converter": STRING,
        "offset.storage.file.filename": str(tmp_path / "offsets"),
        "offset.flush.interval.ms": "100",
        "plugin.discovery": "service_load",
        "listeners": f"HTTP://127.0.0.1:{free_port()}",
    }
    connectors = [
        {"name": "alone-source", "connector.class": f"{FILE_CONNECTORS}SourceConnector", "topic": "alone"},
        {"name": "alone-sink", "connector.class": f"{FILE_CONNECTORS}SinkConnector", "topics": "alone"},
    ]
    paths = [written(tmp_path / "worker.properties", worker)]
    for connector, file in zip(connectors, (source, sink), strict=True):
        paths.append(written(tmp_path / f"{connector['name']}.properties", {**connector, "file": str(file)}))
    for count in (100, 200):
        with source.open("a") as more:
            more.writelines(f"{line}\n" for line in lines[count - 100 : count])
        process = ChildProcess(
            java(STANDALONE, *map(str, paths), class_path=classpath_with_apps()), tmp_path / f"{count}.log"
        )
        with started(process):
            process.wait_ready(
                lambda count=count: sink.exists() and len(sink.read_text().splitlines()) >= count,
                f"{count} lines arrive",
            )
            assert process.stop() == 143
    assert lines_of(sink) == lines


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def is_at_the_end(broker: OurBroker, group: str, topic: str) -> bool:
    """Whether the group has committed all of partition 0."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    try:
        (found,) = consumer.committed([TopicPartition(topic, 0)], 30)
        return bool(found.offset == consumer.get_watermark_offsets(found, 30)[1])
    finally:
        consumer.close()


class Told:
    """What was told of each word last; a word is always in the same partition."""

    def __init__(self, kafka: Librdkafka, topic: str, partitions: int) -> None:
        self._consumer = kafka.consumer()
        self._consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
        self._counts: dict[str, int] = {}

    def counts(self) -> dict[str, int]:
        for message in self._consumer.consume(100, 0.1):
            self._counts[message.key().decode()] = struct.unpack(">q", message.value())[0]
        return self._counts


def expected(lines: list[str]) -> dict[str, int]:
    words = [word for line in lines for word in line.split()]
    return {word: words.count(word) for word in words}


def test_streams_counts_words_and_another_instance_takes_over_what_a_killed_one_counted(
    broker: OurBroker, kafka: Librdkafka, tmp_path: Path
) -> None:
    source, sink = kafka.topic(partitions=2), kafka.topic(partitions=2)

    def instance(name: str) -> ChildProcess:
        # A second try must not join the group that the first one left.
        arguments = (broker.bootstrap, f"word-count-{source}", source, sink, str(tmp_path / name))
        return ChildProcess(java(str(STREAMS), *arguments, class_path=classpath_with_apps()), tmp_path / f"{name}.log")

    def write() -> None:
        for number, line in enumerate(LINES):
            kafka.write(source, [Written(line.encode())], partition=number % 2)

    told = Told(kafka, sink, 2)
    with started(instance("first")) as first:
        write()
        wait_until(lambda: told.counts() == expected(LINES), "all words are counted")
        write()
        wait_until(lambda: told.counts() == expected(LINES * 2), "they are counted on")
        first.kill()
    with started(instance("second")) as second:  # It has only the changelog.
        write()
        # A line that was counted and not committed is counted twice.
        wait_until(
            lambda: all(told.counts().get(word, 0) >= count for word, count in expected(LINES * 3).items()),
            "the second counts on",
        )
        assert second.stop() == 143
        second.says("closed NOT_RUNNING")
