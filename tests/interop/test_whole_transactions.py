"""Streams whose batches cut no transaction, from logs of Apache's broker and ours. The source without Spark: what Spark
calls to plan a batch and to read it."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.sources.kafka.settings import stream_settings
from kafka_zk.spark.sources.kafka.stream_reader import KafkaStreamReader
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S
from tests.support.processes import wait_until
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

pytestmark = pytest.mark.slow
Broker = ApacheBroker | OurBroker
TEXTS = dict.fromkeys(("key.serializer", "value.serializer"), "StringSerializer")
LIMITS = (1, 7, 1000)
NUMBERS = itertools.count()
"""Of topics: a second try has its own."""


@pytest.fixture(scope="module", params=[ApacheBroker, OurBroker])
def broker(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    running = request.param(tmp_path_factory.mktemp("whole"), fresh_chroot(zookeeper, "whole")).start()
    yield running
    running.stop()


class Source:
    """A topic with one partition, and producers whose transactions overlap in it."""

    def __init__(self, broker: Broker, held: ExitStack, name: str, producers: int) -> None:
        name = f"{name}-{next(NUMBERS)}"
        self.client = {"bootstrap.servers": broker.bootstrap}
        self.place = TopicPartition(name, 0)
        self.expected: dict[str, list[str]] = defaultdict(list)
        """The records of each transaction that is committed, in order."""
        self._log_end = 0
        """With the markers of all transactions that were ended."""
        self._under_way: dict[int, str] = {}
        self._written: dict[str, list[str]] = defaultdict(list)
        self.admin = held.enter_context(AdminClient(self.client))
        self.admin.create_topics([NewTopic(name, 1, 1)])
        self._producers: list[KafkaProducer] = []
        for number in range(producers):
            given = {**self.client, **TEXTS, "transactional.id": f"{name}-{number}"}
            self._producers.append(held.enter_context(KafkaProducer(given)))
            self._producers[-1].init_transactions()

    def write(self, number: int, count: int) -> None:
        """Records of one transaction, in one batch or more, in the log before anything else comes."""
        producer = self._producers[number]
        if number not in self._under_way:
            self._under_way[number] = f"{number}.{len(self._written)}"
            producer.begin_transaction()
        name = self._under_way[number]
        for _ in range(count):
            value = f"{name} {len(self._written[name])}"
            self._written[name].append(value)
            self._log_end += 1
            sent = producer.send(self.place.topic, value, partition=0)
        sent.result(PATIENCE_S)

    def end(self, number: int, *, commit: bool) -> None:
        name = self._under_way.pop(number, None)
        if name is None:
            return
        if commit:
            self._producers[number].commit_transaction()
            self.expected[name] = self._written[name]
        else:
            self._producers[number].abort_transaction()
        self._log_end += 1

    def reader(self, **options: str) -> KafkaStreamReader:
        client = {f"kafka.{name}": value for name, value in self.client.items()}
        given = {**client, "kafka.isolation.level": "read_committed", "subscribe": self.place.topic, **options}
        return KafkaStreamReader(stream_settings(CaseInsensitiveDict({**given, "wholeTransactions": "true"})))

    def batches(self, limit: int, **options: str) -> list[list[str]]:
        """The values of each micro-batch of a query over what is available."""
        reader, found = self.reader(**options), []
        at: dict[str, Any] = {self.place.topic: {"0": 0}}
        reader.prepareForTriggerAvailableNow()
        while True:
            end = reader.latestOffset(at, ReadMaxRows(limit))
            if offsets(end) == offsets(at):
                reader.stop()
                return found
            found.append(values(reader, at, end))
            at = end

    def wait_until_over(self, offset: int | None = None) -> None:
        """For the markers of what was ended, which come when its producer has heard that it is decided.

        `offset`: where readers of committed records can then read to, unless that is the end.
        """
        with self.reader()._planner as planner:
            wait_until(
                lambda: planner.latest([self.place])[self.place] == (self._log_end if offset is None else offset),
                f"{self.place} has all markers",
            )


def offsets(of: Mapping[str, Any]) -> dict[str, Any]:
    return {topic: each for topic, each in of.items() if not topic.startswith("@")}


def values(reader: KafkaStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[str]:
    rows = [batch for piece in reader.partitions(start, end) for batch in reader.read(piece)]
    return [value.decode() for batch in rows for value in batch.column("value").to_pylist()]


def assert_whole(source: Source, batches: list[list[str]]) -> None:
    """Each committed transaction is there once, in one batch and in its order, and nothing else is."""
    seen: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, batch in enumerate(batches):
        for value in batch:
            seen[value.partition(" ")[0]].append((number, value))
    assert {name: [value for _, value in rows] for name, rows in seen.items()} == source.expected
    for name, rows in seen.items():
        assert len({number for number, _ in rows}) == 1, f"transaction {name} is in several batches: {rows}"


@pytest.mark.parametrize("seed", range(2))
def test_each_transaction_is_in_one_batch_whatever_the_limit(broker: Broker, seed: int) -> None:
    chance = random.Random(seed)
    with ExitStack() as held:
        source = Source(broker, held, "random", producers=3)
        for _ in range(40):
            number = chance.randrange(3)
            if chance.random() < 0.6:
                source.write(number, chance.randrange(1, 6))
            else:
                source.end(number, commit=chance.random() < 0.7)
        for number in range(3):
            source.end(number, commit=True)
        source.wait_until_over()
        for limit in LIMITS:
            batches = source.batches(limit)
            assert_whole(source, batches)
        assert len(source.batches(1)) > len(batches)


def test_an_open_transaction_holds_up_those_that_overlap_with_it(broker: Broker) -> None:
    """The last stable offset is in the middle of what others have committed meanwhile."""
    with ExitStack() as held:
        source = Source(broker, held, "open", producers=3)
        source.write(0, 3)
        source.end(0, commit=True)
        source.wait_until_over()
        source.write(1, 3)
        source.write(2, 1)
        source.write(1, 3)
        source.end(1, commit=True)
        source.wait_until_over(4 + 3)
        held_up = source.expected.pop("1.1")
        for limit in LIMITS:
            assert_whole(source, source.batches(limit))
        source.end(2, commit=True)
        source.expected["1.1"] = held_up
        source.wait_until_over()
        for limit in LIMITS:
            assert_whole(source, source.batches(limit))


def test_a_transaction_whose_beginning_was_deleted_goes_on_with_what_is_left(broker: Broker) -> None:
    """Between two batches, and before the next one is planned: readers of the source see no more of it either."""
    with ExitStack() as held:
        source = Source(broker, held, "deleted", producers=1)
        for _ in range(3):
            source.write(0, 2)
            source.write(0, 2)
            source.end(0, commit=True)
            source.wait_until_over()
        source.admin.delete_records({source.place: 7})
        left = {"0.1": source.expected["0.1"][2:], "0.2": source.expected["0.2"]}
        source.expected = defaultdict(list, left)
        for limit in LIMITS:
            assert_whole(source, source.batches(limit, failOnDataLoss="false"))
        reader = source.reader(failOnDataLoss="false")
        topic = source.place.topic
        assert offsets(reader.latestOffset({topic: {"0": 0}}, ReadAllAvailable())) == {topic: {"0": 15}}
        reader.stop()
