"""Numbers in every partition: a writer that notes what is acknowledged, a member of a group, and what is there."""

from __future__ import annotations

import itertools
import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from tests.support.processes import wait_until

Place = tuple[str, int]
"""A topic and a partition."""

NUMBER = struct.Struct(">q")
DELIVERY_S = 300
FLUSH_S = 120
READ_S = 60
MORE = 50


class NumberWriter:
    """Writes 0, 1, 2 ... to each partition of `partitions` (topic: count), idempotent, acks=all, until `stop`."""

    def __init__(self, bootstrap: str, partitions: Mapping[str, int], *, pause_s: float = 0.01) -> None:
        self.acknowledged: dict[Place, set[int]] = defaultdict(set)
        self.failures: list[str] = []
        self._places = [(topic, index) for topic, count in partitions.items() for index in range(count)]
        self._pause_s = pause_s
        settings = {"acks": "all", "enable.idempotence": True, "delivery.timeout.ms": DELIVERY_S * 1_000}
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 3, **settings})
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def stop(self) -> None:
        """Blocks until every record is answered."""
        self._stopped.set()
        self._thread.join()

    @property
    def count(self) -> int:
        """Records that are acknowledged."""
        return sum(map(len, self.acknowledged.values()))

    def goes_on(self, timeout_s: float = 60) -> None:
        """Blocks until each partition has some more acknowledged records."""
        before = {place: len(self.acknowledged[place]) for place in self._places}
        wait_until(
            lambda: all(len(self.acknowledged[place]) >= before[place] + MORE for place in self._places),
            "more is acknowledged in every partition",
            timeout_s,
        )

    def _write(self) -> None:
        for number in itertools.count():
            if self._stopped.wait(self._pause_s):
                break
            for place in self._places:
                self._send(place, number)
        if left := self._producer.flush(FLUSH_S):
            self.failures.append(f"{left} records were not answered")

    def _send(self, place: Place, number: int) -> None:
        def note(error: KafkaError | None, _: Message) -> None:
            if error is None:
                self.acknowledged[place].add(number)
            else:
                self.failures.append(str(error))

        with suppress(BufferError):  # Full of what waits for a leader.
            self._producer.produce(place[0], NUMBER.pack(number), partition=place[1], on_delivery=note)
        self._producer.poll(0)


class NumberReader:
    """The only member of a group that reads `topics` all the time. `assignments`: how often it was given partitions."""

    def __init__(self, bootstrap: str, *topics: str, group: str) -> None:
        self.found: dict[Place, set[int]] = defaultdict(set)
        self.assignments = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": False,
                "log_level": 3,
            }
        )
        self._consumer.subscribe([*topics], on_assign=self._assigned)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def is_reading(self) -> None:
        """Blocks until it was handed something."""
        wait_until(lambda: any(self.found.values()), "the member of the group reads", READ_S)

    def has(self, acknowledged: Mapping[Place, set[int]]) -> None:
        """Blocks until it was handed all of these."""
        wait_until(
            lambda: all(numbers <= self.found[place] for place, numbers in acknowledged.items()),
            "the member of the group has read every acknowledged number",
            READ_S,
        )

    def stop(self) -> None:
        """Blocks."""
        self._stopped.set()
        self._thread.join()
        self._consumer.close()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.assignments += bool(partitions)

    def _read(self) -> None:
        while not self._stopped.is_set():
            for message in self._consumer.consume(1_000, 0.2):
                # An error here is a coordinator or a leader that moves: librdkafka goes on by itself.
                topic, partition, value = message.topic(), message.partition(), message.value()
                if message.error() is None and topic is not None and partition is not None and value is not None:
                    self.found[topic, partition].add(NUMBER.unpack(value)[0])


def numbers(bootstrap: str, place: Place) -> Counter[int]:
    """What a reader finds in a partition, from its start to its end."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "check", "enable.auto.commit": False})
    partition = TopicPartition(*place, 0)
    _, end = consumer.get_watermark_offsets(partition, timeout=30)
    consumer.assign([partition])
    found: Counter[int] = Counter()
    last = -1
    deadline = time.monotonic() + READ_S
    while last + 1 < end and time.monotonic() < deadline:
        for message in consumer.consume(1_000, 1):
            assert message.error() is None, message.error()
            found[NUMBER.unpack(message.value())[0]] += 1
            last = message.offset()
    consumer.close()
    return found


def check_numbers(bootstrap: str, acknowledged: Mapping[Place, set[int]]) -> None:
    """Each acknowledged number is there, and no number is there twice."""
    for place, expected in acknowledged.items():
        found = numbers(bootstrap, place)
        missing = expected - found.keys()
        assert not missing, (place, len(missing), sorted(missing)[:10])
        doubled = [number for number, count in found.items() if count > 1]
        assert not doubled, (place, len(doubled), doubled[:10])
