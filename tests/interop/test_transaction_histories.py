"""Transactions under chaos, in the manner of Jepsen: processes poll and send in transactions while brokers are killed,
all that they saw is written down, and `tests.support.transaction_history` looks for what must not be."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition

from tests.interop.chains.cluster import APACHE_ONLY, CLUSTERS, OURS, Cluster
from tests.support.chaos import Worker
from tests.support.processes import wait_until
from tests.support.transaction_history import Began, Outcome, Seen, Transaction, anomalies

PARTITIONS, PROCESSES = 4, 4
MOST_SENT, MOST_POLLED = 4, 20
ABORTS, SEEKS = 0.2, 0.02
"""How likely a transaction is aborted on purpose, and that its process begins to read anew before it."""
ANSWER_S = 5
ATTEMPTS = 3
STUCK_S = 60
"""Three times the timeout of a transaction, whose producer may be gone."""
SHARED = {"broker.address.family": "v4", "log_level": 2, "reconnect.backoff.max.ms": 500}
ALL_PARTITIONS = range(PARTITIONS)


class History:
    """What all processes saw, each in its order."""

    def __init__(self) -> None:
        self.events: list[Transaction | Began] = []
        self._lock = threading.Lock()

    def add(self, event: Transaction | Began) -> None:
        with self._lock:
            self.events.append(event)

    def outcomes(self) -> Counter[Outcome]:
        return Counter(each.outcome for each in self.events if isinstance(each, Transaction) and each.sent)


class Process(Worker):
    """One transactional id that polls committed data and sends values of its own, a transaction each turn."""

    def __init__(self, bootstrap: str, topic: str, name: str, history: History, seed: int) -> None:
        super().__init__(name)
        self._bootstrap, self._topic, self._name, self._history = bootstrap, topic, name, history
        self._chance = random.Random(seed)
        self._count = 0
        self._consumer = reader(bootstrap)
        self._seek()
        self._producer: Producer | None = None

    def turn(self) -> None:
        if self._producer is None:
            self._producer = self._begun()
            return
        if self._chance.random() < SEEKS:
            self._seek()
        transaction = Attempt(self._producer, self._topic)
        outcome = Outcome.UNKNOWN
        polled: list[Seen] = []
        try:
            self._producer.begin_transaction()
            if self._chance.random() < 0.5:
                polled = self._poll()
            for _ in range(self._chance.randint(1, MOST_SENT)):
                self._count += 1
                transaction.send(self._chance.choice(ALL_PARTITIONS), f"{self._name}-{self._count}")
            if self._chance.random() < 0.5:
                polled += self._poll()
            outcome = transaction.ended(is_commit=self._chance.random() >= ABORTS)
        except KafkaException:
            # Whatever became of it: the next producer of this id ends it.
            self._producer = None
        self._history.add(Transaction(self._name, tuple(polled), transaction.sent(), outcome))

    def end(self) -> None:
        self._consumer.close()
        while self._producer is None:
            # What is still open would hold back readers until it times out.
            self._producer = self._begun()

    def _begun(self) -> Producer | None:
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "transactional.id": f"{self._topic}-{self._name}",
                "transaction.timeout.ms": 20_000,
                "linger.ms": self._chance.choice((0, 5)),
                **SHARED,
            }
        )
        try:
            retried(lambda: producer.init_transactions(ANSWER_S))
        except KafkaException:
            return None
        return producer

    def _seek(self) -> None:
        self._history.add(Began(self._name))
        self._consumer.assign([TopicPartition(self._topic, number, OFFSET_BEGINNING) for number in ALL_PARTITIONS])

    def _poll(self) -> list[Seen]:
        return [seen(each) for each in self._consumer.consume(MOST_POLLED, 0.1) if each.error() is None]


class Attempt:
    """A transaction of a producer that has begun it."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer, self._topic = producer, topic
        self._sent: dict[str, Seen] = {}

    def send(self, partition: int, value: str) -> None:
        self._sent[value] = Seen(partition, None, value)
        self._producer.produce(self._topic, value, partition=partition, on_delivery=self._delivered)

    def _delivered(self, error: object, message: Message) -> None:
        if error is None:
            found = seen(message)
            self._sent[found.value] = found

    def sent(self) -> tuple[Seen, ...]:
        return tuple(self._sent.values())

    def ended(self, *, is_commit: bool) -> Outcome:
        """Raises KafkaException where the outcome is unknown."""
        if is_commit:
            try:
                retried(lambda: self._producer.commit_transaction(ANSWER_S))
                return Outcome.COMMITTED
            except KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    raise
        retried(lambda: self._producer.abort_transaction(ANSWER_S))
        return Outcome.ABORTED


def seen(message: Message) -> Seen:
    return Seen(message.partition(), message.offset(), message.value().decode())


def reader(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
            **SHARED,
        }
    )


def retried(call: Callable[[], object]) -> None:
    """As long as librdkafka says that it may help, and not for ever."""
    for attempt in range(ATTEMPTS):
        try:
            call()
            return
        except KafkaException as error:
            if not error.args[0].retriable() or attempt == ATTEMPTS - 1:
                raise


def read_to_the_end(bootstrap: str, topic: str, history: History) -> None:
    """A last process sends one value to each partition, and reads all up to it."""
    last = Process(bootstrap, topic, "last", history, seed=0)
    while last._producer is None:
        last._producer = last._begun()
    transaction = Attempt(last._producer, topic)
    last._producer.begin_transaction()
    for partition in ALL_PARTITIONS:
        transaction.send(partition, f"last-{partition}")
    assert transaction.ended(is_commit=True) is Outcome.COMMITTED
    history.add(Transaction("last", (), transaction.sent()))
    missing = {each.value for each in transaction.sent()}

    progress_s = time.monotonic()
    try:
        # Twenty minutes of records take longer than a wait; what must not last is a wait without any.
        while missing:
            polled = last._poll()
            missing.difference_update(each.value for each in polled)
            history.add(Transaction("last", tuple(polled)))
            if polled:
                progress_s = time.monotonic()
            assert time.monotonic() - progress_s < STUCK_S, f"readers are held back at {positions(last._consumer)}"
    finally:
        last._consumer.close()


def positions(consumer: Consumer) -> str:
    """Where a reader is in each partition, and where readers of committed data may go now."""
    return ", ".join(
        f"{each.partition}: {each.offset} of {consumer.get_watermark_offsets(each, timeout=ANSWER_S)[1]}"
        for each in consumer.position(consumer.assignment())
    )


@pytest.fixture(params=[APACHE_ONLY, OURS])
def cluster(request: pytest.FixtureRequest, tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    built = Cluster(tmp_path, zookeeper_connect, CLUSTERS[request.param])
    yield built
    built.close()


@pytest.mark.parametrize("seconds", [20, pytest.param(1_200, marks=pytest.mark.slow)])
def test_nothing_is_seen_that_must_not_be(cluster: Cluster, chance: random.Random, seconds: int) -> None:
    topic = "histories"
    cluster.create(topic, PARTITIONS)
    history = History()
    processes = [
        Process(cluster.bootstrap, topic, f"p{number}", history, chance.randrange(1 << 32))
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    kills = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        transactions = len(history.events)
        wanted = transactions + chance.randrange(20, 200)
        wait_until(lambda wanted=wanted: len(history.events) > wanted or any(p.has_failed for p in processes), "chaos")
        cluster.kill_and_start(chance.randrange(len(cluster.brokers)))
        kills += 1
    for process in processes:
        process.stop()
    read_to_the_end(cluster.bootstrap, topic, history)
    outcomes = history.outcomes()
    print(f"{kills} kills, {dict(outcomes)}")
    assert outcomes[Outcome.COMMITTED] > 50 and outcomes[Outcome.ABORTED] > 5, outcomes
    assert anomalies(history.events) == []
