"""Clients that live through chaos: each remembers what the broker promised it, and notices a broken promise."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from kafka_zk.broker.membership.session_file import NAME as SESSION_FILE
from tests.support.broker import OurBroker
from tests.support.client_log import ClientLog
from tests.support.zookeeper import ZooKeeperServer, expire_session

LONG_MS = 120_000
REQUEST_MS = 20_000
"""What a client gives a request that a broker must answer at once."""
CALL_S = 90
"""What a call of a member may take: its client gives up a commit after three requests, a leave after 5 s."""
UNANSWERED = "Request in flight (after"
"""In the log of a client: a broker that was there left a request without an answer."""
MAY_WAIT = "LeaveGroupRequest"
"""A client sends it behind its own JoinGroup, and the answers of a connection come in order."""
T = TypeVar("T")
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
    """Members of one group that come and go and commit what they have read.

    Each member calls itself `<group>-<number>` in the log of its client. What `may_happen` in a turn is that a member
    comes, or that one goes.
    """

    def __init__(
        self, bootstrap: str, topic: str, seed: int, *, group: str = "chaos-group", may_happen: float = 0.01
    ) -> None:
        super().__init__(f"reader of {group}")
        self._bootstrap, self._topic, self._group, self._may_happen = bootstrap, topic, group, may_happen
        self._chance = random.Random(seed)
        self._numbers = itertools.count(1)
        self._members: list[tuple[str, Consumer]] = []
        self.committed: dict[int, int] = {}
        """The highest offset whose commit was acknowledged."""
        self.read = 0
        self.closed = 0
        self.longest_call: tuple[float, str] = (0.0, "")
        """Seconds, and what took them."""

    def turn(self) -> None:
        happening = self._chance.random()
        if not self._members or (happening < self._may_happen and len(self._members) < 3):
            name = f"{self._group}-{next(self._numbers)}"
            member = reader(self._bootstrap, self._group, name)
            member.subscribe([self._topic])
            self._members.append((name, member))
        elif happening < 2 * self._may_happen and len(self._members) > 1:
            self._close(*self._members.pop(self._chance.randrange(len(self._members))))
        for name, member in self._members:
            found = [message for message in member.consume(500, 0.05) if message.error() is None]
            self.read += len(found)
            if found:
                self._commit(name, member)

    def end(self) -> None:
        for name, member in self._members:
            self._close(name, member)

    def _commit(self, name: str, member: Consumer) -> None:
        # A rebalance or a broker that is away refuses it: then nothing was promised.
        with suppress(KafkaException):
            for done in self._bounded(f"commit() of {name}", lambda: member.commit(asynchronous=False)) or ():
                if done.error is None and done.offset >= 0:
                    self.committed[done.partition] = max(done.offset, self.committed.get(done.partition, 0))

    def _close(self, name: str, member: Consumer) -> None:
        self._bounded(f"close() of {name}", member.close)
        self.closed += 1

    def _bounded(self, what: str, call: Callable[[], T]) -> T:
        """Make a call that has no time limit of its own; fail, and leave it behind, when it takes too long."""
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(call())
            except BaseException as error:
                done.set_exception(error)

        started_s = time.monotonic()
        threading.Thread(target=run, name=what, daemon=True).start()
        try:
            return done.result(CALL_S)
        except TimeoutError:
            raise AssertionError(f"{what} hangs: no end after {CALL_S} s") from None
        finally:
            self.longest_call = max(self.longest_call, (time.monotonic() - started_s, what))


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


def reader(bootstrap: str, group: str, client_id: str, *, debug: str = "cgrp,protocol,broker") -> Consumer:
    """Its log goes to standard error (see ClientLog)."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": client_id,
            "enable.auto.commit": False,
            "enable.auto.offset.store": True,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "socket.timeout.ms": REQUEST_MS,
            "reconnect.backoff.max.ms": 200,
            "fetch.wait.max.ms": 100,
            "broker.address.family": "v4",
            "debug": debug,
        }
    )


def committed_offsets(bootstrap: str, topic: str, partitions: int, *, group: str) -> dict[int, int]:
    consumer = reader(bootstrap, group, "looks-at-offsets")
    found = consumer.committed([TopicPartition(topic, index) for index in range(partitions)], timeout=30)
    consumer.close()
    return {each.partition: each.offset for each in found}


def assert_all_answered(log: ClientLog) -> None:
    unanswered = [line for line in log.lines(UNANSWERED) if MAY_WAIT not in line]
    assert not unanswered, f"requests without an answer: {unanswered}"


def assert_not_behind(found: dict[int, int], acknowledged: dict[int, int]) -> None:
    behind = {index: (found[index], offset) for index, offset in acknowledged.items() if found[index] < offset}
    assert not behind, f"committed offsets went back (found, acknowledged): {behind}"


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
