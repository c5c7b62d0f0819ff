"""Retention over open, committed and aborted transactions: one data directory, once deleted from by Apache Kafka 3.9.1
and once by us; the same files are left, byte for byte, and readers get the same from them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import read_lines, read_offsets
from kafka_zk.protocol.types import TopicPartition as Partition
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka
from tests.support.our_consumer import Consumers, poll_until
from tests.support.processes import wait_until
from tests.support.znodes import end_session

Kind = type[ApacheBroker | OurBroker]
HOUR_MS = 3_600_000
BY_TIME, BY_SIZE, BY_START = "by-time", "by-size", "by-start"
TOPICS = {
    BY_TIME: {"retention.bytes": "-1"},
    BY_SIZE: {"retention.ms": "-1"},
    BY_START: {"retention.bytes": "-1", "retention.ms": "-1"},
}
"""What deletes from each topic, and the limits that it does not take from its broker."""
SEGMENTS = {"segment.bytes": "2000", "index.interval.bytes": "300", "segment.index.bytes": "4000"}
ALWAYS = {
    "log.segment.delete.delay.ms": "0",
    "log.cleaner.enable": "false",
    "transaction.max.timeout.ms": str(HOUR_MS),
    "transaction.state.log.num.partitions": "1",
}
KEEPS_ALL = {"log.initial.task.delay.ms": str(HOUR_MS)}
DELETES = {
    "log.initial.task.delay.ms": "0",
    "log.retention.check.interval.ms": "300",
    "log.retention.ms": str(HOUR_MS),
    "log.retention.bytes": "6000",
}
ROUNDS = 12
VALUE = bytes(150)

pytestmark = pytest.mark.slow


class Seen(NamedTuple):
    """What readers of one topic get, and between which offsets."""

    committed: list[tuple[int, object]]
    all: list[tuple[int, object]]
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int


class House:
    """Brokers that follow one another, on one ZooKeeper and each on a directory of its own."""

    def __init__(self, folder: Path, zookeeper_connect: str) -> None:
        self._folder = folder
        self._zookeeper_connect = zookeeper_connect
        self._count = 0

    @contextmanager
    def serving(self, kind: Kind, data: Path, settings: dict[str, str]) -> Iterator[Librdkafka]:
        """Stopped in order at the end."""
        self._count += 1
        if self._count > 1:
            end_session(self._zookeeper_connect)
        home = self._folder / f"broker-{self._count}"
        overrides = {**ALWAYS, **settings, "log.dirs": str(data)}
        broker = kind(home, self._zookeeper_connect, overrides=overrides).start()
        try:
            clients = Librdkafka(broker.bootstrap)
            yield clients
            clients.close()
            broker.stop()
        finally:
            broker.kill()


class Writer:
    """Transactions of one producer, which go through all topics; a batch for each record."""

    def __init__(self, clients: Librdkafka, name: str) -> None:
        self._name = name
        self._producer: Producer = clients.producer(
            transactional_id=name, transaction_timeout_ms=HOUR_MS, linger_ms=0, batch_num_messages=1
        )
        self._producer.init_transactions(PATIENCE_S)
        self._count = 0

    def begin(self) -> None:
        self._producer.begin_transaction()

    def write(self, topic: str, timestamp_ms: int) -> None:
        self._count += 1
        value = f"{self._name}-{self._count}-".encode() + VALUE
        self._producer.produce(topic, value, timestamp=timestamp_ms)
        assert self._producer.flush(PATIENCE_S) == 0

    def end(self, *, is_commit: bool) -> None:
        end = self._producer.commit_transaction if is_commit else self._producer.abort_transaction
        end(PATIENCE_S)


def write_transactions(clients: Librdkafka) -> None:
    """Each topic has several segments. BY_SIZE has a transaction that is open from its middle on, the others have one
    that is open from their first record on.

    Old records of BY_TIME are in no transaction that has ended: a marker has the time of its broker.
    """
    news = [NewTopic(topic, 1, 1, config={**SEGMENTS, **limits}) for topic, limits in TOPICS.items()]
    for made in clients.admin.create_topics(news, operation_timeout=PATIENCE_S).values():
        made.result(PATIENCE_S)
    now_ms = int(time.time() * 1000)
    old_ms = now_ms - 24 * HOUR_MS
    early, late, ending = (Writer(clients, name) for name in ("early", "late", "ending"))
    early.begin()
    for number in range(2 * ROUNDS):
        early.write(BY_TIME, old_ms + number)
        early.write(BY_START, now_ms)
    end_some(ending, now_ms)
    end_some(ending, now_ms)
    late.begin()
    for topic in (BY_SIZE, BY_START):
        late.write(topic, now_ms)
    end_some(ending, now_ms)
    (low,) = clients.admin.delete_records([TopicPartition(BY_START, 0, 2 * ROUNDS + ROUNDS // 2)]).values()
    assert low.result(PATIENCE_S).low_watermark == 2 * ROUNDS + ROUNDS // 2


def end_some(writer: Writer, now_ms: int) -> None:
    """Transactions that are committed or aborted."""
    for number in range(ROUNDS):
        writer.begin()
        for topic in TOPICS:
            writer.write(topic, now_ms)
        writer.end(is_commit=number % 3 != 0)


def seen_of(bootstrap: str, topic: str) -> Seen:
    levels = []
    partition = Partition(topic, 0)
    with Consumers(bootstrap) as consumers:
        for level in ("read_committed", "read_uncommitted"):
            consumer = consumers(isolation_level=level)
            consumer.assign([partition])
            start, end = (found([partition])[partition] for found in (consumer.beginning_offsets, consumer.end_offsets))
            read = poll_until([consumer], lambda of=consumer, end=end: of.position(partition) >= end)
            levels.append(([(record.offset, record.value) for record in read], start, end))
    (committed, start, stable), (everything, same_start, end) = levels
    assert start == same_start
    return Seen(committed, everything, start, stable, end)


def files_of(partition: Path) -> dict[str, bytes]:
    """By name; the entry of a leader that has written nothing is left out of the leader epochs."""
    found = {path.name: path.read_bytes() for path in sorted(partition.iterdir()) if path.name != names.LEADER_EPOCHS}
    *epochs, _ = read_lines(partition / names.LEADER_EPOCHS)
    return {**found, names.LEADER_EPOCHS: "\n".join(epochs).encode()}


def bases_in(partition: Path) -> list[int]:
    return sorted(int(path.stem) for path in partition.glob(f"*{names.LOG}"))


def test_both_brokers_leave_the_same(tmp_path: Path, zookeeper_connect: str) -> None:
    house = House(tmp_path, zookeeper_connect)
    before = tmp_path / "before"
    with house.serving(ApacheBroker, before, KEEPS_ALL) as clients:
        write_transactions(clients)
        first = {topic: seen_of(clients.bootstrap, topic) for topic in TOPICS}
    places: dict[str, Path] = {"apache": tmp_path / "theirs", "ours": tmp_path / "ours"}
    seen: dict[str, dict[str, Seen]] = {}
    for side, kind in (("apache", ApacheBroker), ("ours", OurBroker)):
        data = places[side]
        shutil.copytree(before, data)
        with house.serving(kind, data, DELETES) as clients:
            wait_until(
                lambda data=data: all(
                    bases_in(data / f"{topic}-0")[0] > 0 and not list(data.glob(f"{topic}-0/*{names.DELETED}"))
                    for topic in TOPICS
                ),
                f"{side} has deleted segments of each topic",
            )
            seen[side] = {topic: seen_of(clients.bootstrap, topic) for topic in TOPICS}
    for topic in TOPICS:
        ours, theirs = (files_of(places[side] / f"{topic}-0") for side in ("ours", "apache"))
        assert sorted(ours) == sorted(theirs), topic
        assert [name for name, content in theirs.items() if ours[name] != content] == [], topic
        starts = [read_offsets(places[side] / names.LOG_START_OFFSETS).get(Partition(topic, 0)) for side in places]
        assert starts[0] == starts[1], topic
        mine, apaches = seen["ours"][topic], seen["apache"][topic]
        assert mine == apaches, topic
        assert len(bases_in(places["ours"] / f"{topic}-0")) > 1, "not all of it went"
        # The rest is as it was, though transactions that are open began in what is gone.
        start = mine.log_start_offset
        assert mine.all == [row for row in first[topic].all if row[0] >= start]
        assert mine.committed == [row for row in first[topic].committed if row[0] >= start]
        assert mine.last_stable_offset == max(first[topic].last_stable_offset, start)
        assert mine.high_watermark == first[topic].high_watermark
    assert seen["ours"][BY_SIZE].committed
