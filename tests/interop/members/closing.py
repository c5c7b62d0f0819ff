"""Members with librdkafka that come, read a little and go, again and again: how long does it take to go?

Arguments: bootstrap, topic, seed, groups, members of each group. Each member is a thread; every other one is static,
the members of every other group assign cooperatively. Who commits at the end is the client, as it closes, or the
callback that is told of the partitions that go; nobody commits before. What is said, a line each:

    goes NAME HOW   it begins to leave the group and close
    gone NAME       it has closed
    ended           nobody is left, as asked by SIGTERM

They unsubscribe first and close once their partitions are taken from them: see `confluent` for what happens else.
"""

from __future__ import annotations

import itertools
import random
import sys
import threading
import time
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.interop.members.speech import told_to_end

ASSIGNORS = ("range", "cooperative-sticky")
LIVES_S = (0.0, 0.3, 1.0, 2.0, 4.0, 8.0)
SESSIONS_MS = (2_000, 6_000)


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Life:
    """One member from its coming to its going."""

    def __init__(self, bootstrap: str, topic: str, group: int, number: int, name: str, chance: random.Random) -> None:
        self._topic, self._name, self._chance = topic, name, chance
        self._positions: dict[int, int] = {}
        self._owned: set[int] = set()
        self._commits_itself = chance.random() < 0.5
        instance = {"group.instance.id": f"instance-{number}"} if number % 2 else {}
        assignor = ASSIGNORS[group % 2]
        self._how = f"{assignor} {'static' if instance else 'dynamic'} {'auto' if self._commits_itself else 'callback'}"
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "broker.address.family": "v4",
                "log_level": 0,
                "group.id": f"closing-{group}",
                "client.id": name,
                "partition.assignment.strategy": assignor,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": self._commits_itself,
                "auto.commit.interval.ms": 200,
                "session.timeout.ms": chance.choice(SESSIONS_MS),
                "heartbeat.interval.ms": 200,
                "fetch.wait.max.ms": 100,
                "reconnect.backoff.max.ms": 500,
                **instance,
            }
        )
        self._consumer.subscribe(
            [topic], on_assign=self._gains, on_revoke=self._loses, on_lost=lambda _, lost: self._forget(lost)
        )

    def live(self) -> None:
        until_s = time.monotonic() + self._chance.choice(LIVES_S)
        while time.monotonic() < until_s:
            message = self._consumer.poll(0.05)
            if message is not None and message.error() is None:
                self._positions[message.partition()] = message.offset() + 1
            elif message is None and not self._commits_itself:
                self._commit(set(self._positions), asynchronous=True)
        say("goes", self._name, self._how)
        try:
            self._consumer.unsubscribe()
        except KafkaException:
            # Fenced, for good: its coordinator was killed before it had stored the id that it gave to this instance,
            # and the next one knows an older id.
            self._owned.clear()
        while self._consumer.poll(0.1) is not None or self._owned:
            pass
        self._consumer.close()
        say("gone", self._name)

    def _gains(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._owned.update(each.partition for each in partitions)

    def _loses(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        if not self._commits_itself:
            self._commit({each.partition for each in partitions}, asynchronous=False)
        self._forget(partitions)

    def _forget(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._owned.discard(each.partition)
            self._positions.pop(each.partition, None)

    def _commit(self, partitions: set[int], asynchronous: bool) -> None:
        ends = [
            TopicPartition(self._topic, partition, self._positions[partition])
            for partition in partitions & self._positions.keys()
        ]
        if ends:
            # Who was silent for too long is refused; another member reads these again.
            with suppress(KafkaException):
                self._consumer.commit(offsets=ends, asynchronous=asynchronous)


def main() -> None:
    bootstrap, topic, seed, groups, members = sys.argv[1:]
    told = told_to_end()
    names = itertools.count(1)

    def come_and_go(group: int, number: int) -> None:
        chance = random.Random(f"{seed} {group} {number}")
        while not told.is_set():
            Life(bootstrap, topic, group, number, f"closer-{next(names)}", chance).live()

    threads = [
        threading.Thread(target=come_and_go, args=(group, number))
        for group in range(int(groups))
        for number in range(int(members))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say("ended")


if __name__ == "__main__":
    main()
