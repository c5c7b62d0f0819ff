"""Clients that live through chaos: each remembers what the broker promised it, and notices a broken promise."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

LONG_MS = 120_000
Slot = tuple[str, int]
"""A topic and a partition."""


class Worker:
    """A thread that repeats `turn` until it is stopped; what it raises fails the test in `stop`."""

    def __init__(self, name: str) -> None:
        self.stopping = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def turn(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        """Runs in the thread, after the last turn."""

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float = 60) -> None:
        self.stopping.set()
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), f"{self._thread.name} hangs"
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self.stopping.is_set():
                self.turn()
            self.end()
        except BaseException as failure:
            self._failure = failure


class IdempotentWriter(Worker):
    """An idempotent producer; its values say who wrote them and in which order."""

    def __init__(self, bootstrap: str, number: int, topic: str, partitions: int, seed: int) -> None:
        super().__init__(f"writer-{number}")
        self._number, self._topic, self._partitions = number, topic, partitions
        self._chance = random.Random(seed)
        self._sequence = 0
        self.acknowledged: dict[int, list[bytes]] = defaultdict(list)
        self.refused: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": self._chance.choice((0, 5)),
                "compression.type": self._chance.choice(("none", "lz4", "zstd", "snappy", "gzip")),
                "message.timeout.ms": LONG_MS,
                "reconnect.backoff.max.ms": 200,
                "broker.address.family": "v4",
                "log_level": 0,
            }
        )

    def turn(self) -> None:
        for _ in range(self._chance.choice((1, 10, 100))):
            self._sequence += 1
            size = self._chance.choice((0, 100, 1000))
            value = b"%d:%d:" % (self._number, self._sequence) + b"." * size
            with suppress(BufferError):
                self._producer.produce(
                    self._topic, value, partition=self._chance.randrange(self._partitions), on_delivery=self._delivered
                )
        self._producer.poll(0)
        self.stopping.wait(0.01)

    def end(self) -> None:
        left = self._producer.flush(LONG_MS / 1000)
        assert not left, f"{left} records of {self._number} were never answered"

    def _delivered(self, error: object, message: Message) -> None:
        if error is not None:
            self.refused.append(str(error))
        else:
            self.acknowledged[message.partition()].append(message.value())


class GroupReader(Worker):
    """Members of one group that come and go and commit what they have read."""

    def __init__(self, bootstrap: str, topic: str, seed: int) -> None:
        super().__init__("group-reader")
        self._bootstrap, self._topic = bootstrap, topic
        self._chance = random.Random(seed)
        self._members: list[Consumer] = []
        self.committed: dict[int, int] = {}
        """The highest offset whose commit was acknowledged."""
        self.read = 0

    def turn(self) -> None:
        happening = self._chance.random()
        if not self._members or (happening < 0.01 and len(self._members) < 3):
            member = reader(self._bootstrap, "chaos-group")
            member.subscribe([self._topic])
            self._members.append(member)
        elif happening < 0.02 and len(self._members) > 1:
            self._members.pop(self._chance.randrange(len(self._members))).close()
        for member in self._members:
            found = [message for message in member.consume(500, 0.05) if message.error() is None]
            self.read += len(found)
            if found:
                self._commit(member)

    def _commit(self, member: Consumer) -> None:
        # A rebalance or a broker that is away refuses it: then nothing was promised.
        with suppress(KafkaException):
            for done in member.commit(asynchronous=False) or ():
                if done.error is None:
                    self.committed[done.partition] = max(done.offset, self.committed.get(done.partition, 0))

    def end(self) -> None:
        for member in self._members:
            member.close()


class TopicChurn(Worker):
    """Topics that are created, enlarged and deleted meanwhile."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        super().__init__("topic-churn")
        self._chance = random.Random(seed)
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "broker.address.family": "v4", "log_level": 0})
        self.done = 0

    def turn(self) -> None:
        topic = f"churn-{self._chance.randrange(6)}"
        size = self._chance.randrange(1, 5)
        asked: Callable[[], dict[str, Future[Any]]] = self._chance.choice(
            (
                lambda: self._admin.create_topics([NewTopic(topic, size, 1)], request_timeout=5),
                lambda: self._admin.create_partitions([NewPartitions(topic, size + 1)], request_timeout=5),
                lambda: self._admin.delete_topics([topic], request_timeout=5),
            )
        )
        # Refusals are part of the game: the topic is there, is not there, or the broker is away.
        with suppress(KafkaException):
            asked()[topic].result(10)
            self.done += 1
        self.stopping.wait(0.05)


def reader(bootstrap: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": True,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "reconnect.backoff.max.ms": 200,
            "fetch.wait.max.ms": 100,
            "broker.address.family": "v4",
            "log_level": 0,
        }
    )


def committed_offsets(bootstrap: str, topic: str, partitions: int) -> dict[int, int]:
    consumer = reader(bootstrap, "chaos-group")
    found = consumer.committed([TopicPartition(topic, index) for index in range(partitions)], timeout=30)
    consumer.close()
    return {each.partition: each.offset for each in found}
