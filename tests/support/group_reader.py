"""Members of a group that live through chaos: they come and go, commit what they read, and remember every promise."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from tests.support.chaos import Worker

REQUEST_MS = 20_000
"""What a client gives a request that a broker must answer at once."""
CALL_S = 90
"""What a commit or a leave may take: a client gives up a commit after three requests, a leave after 5 s."""


class Member:
    """One client, and its share of `committed`: the highest offset the group was promised to keep, by partition.

    It calls itself `name` in its log, on standard error (see ClientLog). What it reads must follow what it has read.

    It commits without waiting, as a member that must go on polling does. One that waits instead can hang in librdkafka
    2.16 after a broker that has just started named no broker: the client parts from all it knew, the records that were
    fetched and not polled keep these from ending, no other is tried meanwhile, and the commit waits for one.
    """

    def __init__(
        self, bootstrap: str, topic: str, group: str, name: str, committed: dict[int, int], session_ms: int
    ) -> None:
        self.name = name
        self.longest_s = 0.0
        """What the slowest commit or leave took."""
        self.commits = 0
        """Acknowledged, of one partition each."""
        self._committed = committed
        self._next: dict[int, int] = {}
        """By partition, the offset that must come next."""
        self._asked_s: float | None = None
        """When the commit was sent that has no answer yet."""
        told = {"on_commit": self._on_commit, "debug": "cgrp,protocol,broker"}
        self._consumer = Consumer(_settings(bootstrap, group, name, session_ms) | told)
        self._consumer.subscribe([topic], on_assign=self._on_assign)

    def read(self, *, commits: bool = True) -> int:
        """Poll once, for 50 ms at most; how many records came. Commits them unless another commit is under way."""
        found = [message for message in self._consumer.consume(500, 0.05) if message.error() is None]
        for message in found:
            self._check_order(message)
        if self._asked_s is not None:
            waited_s = time.monotonic() - self._asked_s
            assert waited_s < CALL_S, f"commit of {self.name} hangs: no answer after {CALL_S} s"
        elif found and commits:
            self._consumer.commit(asynchronous=True)
            self._asked_s = time.monotonic()
        return len(found)

    def leave(self) -> None:
        """Wait for the commit that is under way, then go."""
        while self._asked_s is not None:
            self.read(commits=False)
        # A close that meets a rebalance can hang, and all of Python with it (see tests/interop/members/confluent.py).
        self._consumer.unsubscribe()
        while self._consumer.poll(0.05) is not None:
            pass
        self._within(CALL_S, f"close of {self.name}", self._consumer.close)

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._next.pop(each.partition, None)

    def _check_order(self, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        assert partition is not None and offset is not None
        expected = self._next.get(partition)
        if expected is None:
            # What the members before had committed was promised before this one was given the partition.
            promised = self._committed.get(partition, 0)
            assert offset >= promised, f"{self.name} begins partition {partition} at {offset}, {promised} was committed"
        else:
            assert offset == expected, f"{self.name} read {offset} of partition {partition} in the place of {expected}"
        self._next[partition] = offset + 1

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        assert self._asked_s is not None, f"{self.name} was told twice of a commit"
        self._took(self._asked_s)
        self._asked_s = None
        # A rebalance, or a broker that is away, refuses it: then nothing was promised.
        if error is None:
            for done in partitions:
                if done.error is None and done.offset >= 0:
                    self.commits += 1
                    self._committed[done.partition] = max(done.offset, self._committed.get(done.partition, 0))

    def _within(self, limit_s: float, what: str, call: Callable[[], None]) -> None:
        """Make a call that has no time limit of its own; fail, and leave it behind, when it takes too long."""
        done: Future[None] = Future()

        def run() -> None:
            try:
                call()
                done.set_result(None)
            except BaseException as error:
                done.set_exception(error)

        started_s = time.monotonic()
        threading.Thread(target=run, name=what, daemon=True).start()
        try:
            done.result(limit_s)
        except TimeoutError:
            raise AssertionError(f"{what} hangs: no end after {limit_s} s") from None
        finally:
            self._took(started_s)

    def _took(self, since_s: float) -> None:
        self.longest_s = max(self.longest_s, time.monotonic() - since_s)


class GroupReader(Worker):
    """The members of one group, called `<group>-<number>`; three at a time at most.

    What `may_happen` in a turn is that a member comes, or that one goes. One that goes while the broker is away is
    waited for by the others until its session is over, which begins anew with each start of the broker.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        seed: int,
        *,
        group: str = "chaos-group",
        may_happen: float = 0.01,
        session_ms: int = 6_000,
    ) -> None:
        super().__init__(f"reader of {group}")
        self._bootstrap, self._topic, self._group, self._may_happen = bootstrap, topic, group, may_happen
        self._session_ms = session_ms
        self._chance = random.Random(seed)
        self._numbers = itertools.count(1)
        self._members: list[Member] = []
        self.committed: dict[int, int] = {}
        """The highest offset whose commit was acknowledged, by partition."""
        self.commits = 0
        """Acknowledged, of one partition each."""
        self.read = 0
        self.closed = 0
        self.longest_s = 0.0
        """What the slowest commit or leave took."""

    def turn(self) -> None:
        happening = self._chance.random()
        if not self._members or (happening < self._may_happen and len(self._members) < 3):
            name = f"{self._group}-{next(self._numbers)}"
            self._members.append(
                Member(self._bootstrap, self._topic, self._group, name, self.committed, self._session_ms)
            )
        elif happening < 2 * self._may_happen and len(self._members) > 1:
            self._part_from(self._members.pop(self._chance.randrange(len(self._members))))
        for member in self._members:
            self.read += member.read()

    def end(self) -> None:
        while self._members:
            self._part_from(self._members.pop())

    def _part_from(self, member: Member) -> None:
        try:
            member.leave()
        finally:
            self.longest_s = max(self.longest_s, member.longest_s)
        self.commits += member.commits
        self.closed += 1


def committed_offsets(bootstrap: str, topic: str, partitions: int, *, group: str) -> dict[int, int]:
    consumer = Consumer(_settings(bootstrap, group, "looks-at-offsets"))
    found = consumer.committed([TopicPartition(topic, index) for index in range(partitions)], timeout=30)
    consumer.close()
    return {each.partition: each.offset for each in found}


def assert_not_behind(found: dict[int, int], acknowledged: dict[int, int]) -> None:
    behind = {index: (found[index], offset) for index, offset in acknowledged.items() if found[index] < offset}
    assert not behind, f"committed offsets went back (found, acknowledged): {behind}"


def _settings(bootstrap: str, group: str, client_id: str, session_ms: int = 6_000) -> dict[str, object]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": client_id,
        "enable.auto.commit": False,
        "enable.auto.offset.store": True,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": session_ms,
        "heartbeat.interval.ms": session_ms // 3,
        "socket.timeout.ms": REQUEST_MS,
        "reconnect.backoff.max.ms": 200,
        "fetch.wait.max.ms": 100,
        "broker.address.family": "v4",
    }
