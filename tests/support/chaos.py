"""Clients that live through chaos: each remembers what the broker promised it, and notices a broken promise."""

from __future__ import annotations

import json
import random
import re
import threading
import time
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from kafka_zk.broker.membership.session_file import NAME as SESSION_FILE
from tests.support.broker import OurBroker
from tests.support.client_log import ClientLog
from tests.support.zookeeper import ZooKeeperServer, expire_session

LONG_MS = 120_000
UNANSWERED = "Request in flight (after"
"""In the log of a client: a broker that was there left a request without an answer."""
MAY_WAIT = "LeaveGroupRequest"
"""A client sends it behind its own JoinGroup, and the answers of a connection come in order."""


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

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

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


def value_of(writer: int, sequence: int) -> bytes:
    """What a writer writes as its record of this number: it says who wrote it and in which order."""
    head = b"%d:%d:" % (writer, sequence)
    return head + b"." * (0, 100, 1000)[zlib.crc32(head) % 3]


def writer_and_sequence(value: bytes) -> tuple[int, int]:
    """Of a record. Fails unless it is, byte for byte, what a writer wrote."""
    found = re.match(rb"(\d+):(\d+):", value)
    assert found is not None, f"no writer wrote {value[:100]!r}"
    writer, sequence = int(found[1]), int(found[2])
    assert value == value_of(writer, sequence), f"a record of writer {writer} has changed: {value[:100]!r}"
    return writer, sequence


class IdempotentWriter(Worker):
    """An idempotent producer of the records `value_of`, numbered from 1 on."""

    def __init__(self, bootstrap: str, number: int, topic: str, partitions: int, seed: int) -> None:
        super().__init__(f"writer-{number}")
        self._number, self._topic, self._partitions = number, topic, partitions
        self._chance = random.Random(seed)
        self._sequence = 0
        self.acknowledged: dict[int, array[int]] = defaultdict(lambda: array("q"))
        """Sequences, by partition."""
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
            value = value_of(self._number, self._sequence)
            with suppress(BufferError):
                self._producer.produce(
                    self._topic, value, partition=self._chance.randrange(self._partitions), on_delivery=self._delivered
                )
        self._producer.poll(0)
        self.stopping.wait(0.02)

    def end(self) -> None:
        left = self._producer.flush(LONG_MS / 1000)
        assert not left, f"{left} records of {self._number} were never answered"

    def _delivered(self, error: object, message: Message) -> None:
        if error is not None:
            self.refused.append(str(error))
        else:
            self.acknowledged[message.partition()].append(writer_and_sequence(message.value())[1])


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


def assert_all_answered(log: ClientLog) -> None:
    unanswered = [line for line in log.lines(UNANSWERED) if MAY_WAIT not in line]
    assert not unanswered, f"requests without an answer: {unanswered}"


def disturb(
    broker: OurBroker, zookeeper: ZooKeeperServer, chance: random.Random, workers: Sequence[Worker], seconds: float
) -> dict[str, int]:
    """So long, or until a worker fails: stops, kills and lost sessions; the broker runs at the end."""
    counts: dict[str, int] = defaultdict(int)
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s and not any(worker.has_failed for worker in workers):
        time.sleep(chance.uniform(0.5, 2.5))
        kind = chance.choice(("kill", "kill", "stop", "expire"))
        counts[kind] += 1
        if kind == "expire":
            session = json.loads((broker.log_dir / SESSION_FILE).read_text())
            expire_session(zookeeper, session["session_id"], bytes.fromhex(session["password"]))
            continue
        if kind == "kill":
            broker.kill()
        else:
            assert broker.stop() == 143
        broker.start()
    return counts
