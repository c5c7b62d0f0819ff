"""A fleet: members of groups in processes with unmodified clients of every kind, and an account of what they read.

What a member says is described in tests/interop/members.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.apache import classpath_of_clients_4, java
from tests.support.librdkafka import offsets_committed_by
from tests.support.processes import ChildProcess, wait_until

PROGRAM = Path(__file__).resolve().parents[1] / "interop" / "java" / "FleetMembers.java"
JAVA, JAVA_4, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA = "java-3.9", "java-4", "confluent", "python", "aio"
SPEAKS = {
    "range": (JAVA, JAVA_4, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA),
    "roundrobin": (JAVA, JAVA_4, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA),
    "sticky": (JAVA, JAVA_4),
    "cooperative-sticky": (JAVA, JAVA_4, LIBRDKAFKA),
}
"""Who can be in one group with whom: of the sticky kinds each library writes its memory in its own way."""
PATIENCE_S = 60


class Account:
    """What all members said together, those that are gone among them."""

    def __init__(self) -> None:
        self.reads: defaultdict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
        """group -> how often each (partition, offset) was handed to a member."""
        self.refusals: list[str] = []


class Crew:
    """One process with some members."""

    def __init__(self, fleet: Fleet, kind: str, name: str, specs: tuple[str, ...], session_timeout_ms: int) -> None:
        arguments = [fleet.bootstrap, fleet.topic, name, str(session_timeout_ms), *specs]
        if kind in (JAVA, JAVA_4):
            command = java(str(PROGRAM), *arguments, class_path=classpath_of_clients_4() if kind == JAVA_4 else None)
        else:
            command = [sys.executable, "-m", f"tests.interop.members.{kind}", *arguments]
        self.name = name
        self.process = ChildProcess(command, fleet.folder / f"{name}.log")
        self.size = sum(int(spec.split(":")[2]) for spec in specs)
        self.owned: dict[tuple[str, str], set[int]] = {}
        """(group, member) -> its partitions, once it said so."""
        self._account = fleet.account
        self._seen_bytes = 0

    def listen(self) -> None:
        """Take in what was said since the last time."""
        if not self.process.log.exists():
            return
        with self.process.log.open("rb") as log:
            log.seek(self._seen_bytes)
            said = log.read()
        whole, newline, _ = said.rpartition(b"\n")
        self._seen_bytes += len(whole) + len(newline)
        for line in whole.decode().splitlines():
            self._take(line)

    def _take(self, line: str) -> None:
        match line.split(" "):
            case [group, member, "owns", partitions]:
                self.owned[group, member] = set(map(int, filter(None, partitions.split(","))))
            case [group, _, "read", partition, first, last]:
                offsets = range(int(first), int(last) + 1)
                self._account.reads[group].update((int(partition), offset) for offset in offsets)
            case [_, _, "refused", _]:
                self._account.refusals.append(line)


class Fleet:
    """Crews that come and go, and a writer that never stops until it is told."""

    def __init__(self, folder: Path, bootstrap: str, topic: str, partitions: int, replicas: int = 1) -> None:
        self.folder = folder
        self.bootstrap = bootstrap
        self.topic = topic
        self.partitions = partitions
        self.crews: list[Crew] = []
        self.account = Account()
        self._numbers = itertools.count(1)
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(topic, partitions, replicas)], operation_timeout=PATIENCE_S)[topic].result()
        self.writer = Writer(bootstrap, topic, partitions)
        self.writer.start()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        for crew in self.crews:
            crew.process.kill()
        if self.writer.is_alive():
            self.writer.stop()

    def enlist(self, kind: str, *specs: str, session_timeout_ms: int = 20_000) -> Crew:
        """Start a process with members: "group:assignor:members:instance" for each group."""
        crew = Crew(self, kind, f"{kind}{next(self._numbers)}", specs, session_timeout_ms)
        crew.process.start()
        self.crews.append(crew)
        return crew

    def dismiss(self, *crews: Crew) -> None:
        """Let all their members leave as one leaves."""
        for crew in crews:
            crew.process.stop()
            self._is_gone(crew)

    def crash(self, *crews: Crew) -> None:
        """kill -9."""
        for crew in crews:
            crew.process.kill()
            self._is_gone(crew)

    def _is_gone(self, crew: Crew) -> None:
        crew.listen()
        self.crews.remove(crew)

    def shares(self, group: str) -> list[set[int]]:
        """What the living members of a group own."""
        self._listen()
        return [owned for crew in self.crews for (of, _), owned in crew.owned.items() if of == group]

    def wait_until_shared(self, *groups: str) -> None:
        """Every living member has its even share in each of its groups, and every partition one owner."""

        def is_shared() -> bool:
            self._listen()
            if any(len(crew.owned) < crew.size for crew in self.crews):
                return False
            return all(self._is_even(self.shares(group)) for group in groups)

        wait_until(is_shared, f"{groups} share {self.partitions} partitions", PATIENCE_S)

    def _is_even(self, shares: list[set[int]]) -> bool:
        sizes = sorted(map(len, shares))
        together = sorted(partition for share in shares for partition in share)
        return together == list(range(self.partitions)) and sizes[-1] - sizes[0] <= 1

    def reads(self, group: str) -> Counter[tuple[int, int]]:
        """How often each (partition, offset) was handed to a member until now."""
        self._listen()
        return self.account.reads[group]

    def wait_until_all_read(self, *groups: str) -> None:
        """Every record acknowledged so far was handed to each of the groups."""
        written = self.writer.acknowledged()
        wanted = {(partition, offset) for partition, end in enumerate(written) for offset in range(end)}
        assert wanted, "nothing was written"

        def missing() -> dict[str, set[tuple[int, int]]]:
            found = {group: wanted - self.reads(group).keys() for group in groups}
            return {group: offsets for group, offsets in found.items() if offsets}

        wait_until(lambda: not missing(), f"all of {written} are read by {groups}", PATIENCE_S)

    def assert_each_read_once(self, *groups: str) -> None:
        """Between clean rebalances: all that was read, was read once."""
        for group in groups:
            twice = sorted(place for place, count in self.reads(group).items() if count > 1)
            assert not twice, (group, len(twice), twice[:20])
        assert not self.account.refusals

    def committed(self, group: str) -> list[int]:
        """The group's offset of each partition, as another client sees it; -1001 without one."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, "log_level": 3})
        try:
            wanted = [TopicPartition(self.topic, partition) for partition in range(self.partitions)]
            return offsets_committed_by(consumer, wanted)
        finally:
            consumer.close()

    def _listen(self) -> None:
        for crew in self.crews:
            assert crew.process.is_running, f"{crew.name} ended by itself\n{crew.process.output()[-3000:]}"
            crew.listen()


class Writer(threading.Thread):
    """Produces numbers to all partitions in turn until it is stopped; each is there once."""

    PAUSE_S = 0.04

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(daemon=True)
        self._topic = topic
        self._ends = [0] * partitions
        self._refused: list[str] = []
        self._told = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "broker.address.family": "v4",
                "enable.idempotence": True,
                "reconnect.backoff.max.ms": 300,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        try:
            self._write()
        except BaseException as error:
            # Nobody should wait for what never comes. (Of an error in a callback, `poll` makes a SystemError.)
            self._refused.append(f"the writer ended: {error!r}")
            raise

    def _write(self) -> None:
        for number in itertools.count():
            if self._told.wait(self.PAUSE_S):
                break
            for partition in range(len(self._ends)):
                self._producer.produce(self._topic, b"%d" % number, partition=partition, on_delivery=self._heard)
            self._producer.poll(0)
        self._producer.flush(PATIENCE_S)

    def _heard(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._refused.append(str(error))
            return
        partition, value = message.partition(), message.value()
        assert partition is not None and value is not None
        # No offset is told of a record that the broker had already, when its first answer was lost. Nobody else writes
        # here, so the number of a record is its place.
        offset = message.offset()
        self._ends[partition] = max(self._ends[partition], (int(value) if offset is None else offset) + 1)

    def acknowledged(self) -> list[int]:
        """The end of each partition, as far as it was told."""
        assert not self._refused, self._refused[:5]
        return list(self._ends)

    def wait_for_more(self, count: int = 5) -> None:
        """Of each partition."""
        before = self.acknowledged()
        wait_until(
            lambda: all(now >= then + count for now, then in zip(self.acknowledged(), before, strict=True)),
            f"{count} more records are written to each partition",
            PATIENCE_S,
        )

    def stop(self) -> list[int]:
        """The ends once all is acknowledged."""
        self._told.set()
        self.join()
        return self.acknowledged()
