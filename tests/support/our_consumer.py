"""Our own consumers in tests: made with little patience, polled in turn, all closed at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.protocol.types import TopicPartition

PACKAGE = "org.apache.kafka.common.serialization."
ASSIGNORS = "org.apache.kafka.clients.consumer."
PATIENCE_S = 60


def settings(bootstrap: str, **more: object) -> dict[str, object]:
    """`group_id="g"` stands for group.id=g."""
    return {
        "bootstrap.servers": bootstrap,
        "key.deserializer": PACKAGE + "ByteArrayDeserializer",
        "value.deserializer": PACKAGE + "StringDeserializer",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "heartbeat.interval.ms": 100,
        "session.timeout.ms": 10_000,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


class Heard(ConsumerRebalanceListener):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, list[TopicPartition]]] = []

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.told.append(("revoked", sorted(partitions)))

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.told.append(("assigned", sorted(partitions)))

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self.told.append(("lost", sorted(partitions)))

    def partitions(self, what: str) -> set[TopicPartition]:
        return {partition for kind, partitions in self.told if kind == what for partition in partitions}


class Consumers:
    """Closes those it made, in the order in which they came."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._made: list[KafkaConsumer] = []

    def __enter__(self) -> Consumers:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        for consumer in self._made:
            consumer.close(0 if kind else 30)

    def __call__(self, **more: object) -> KafkaConsumer:
        consumer = KafkaConsumer(settings(self._bootstrap, **more))
        self._made.append(consumer)
        return consumer


def poll_until(consumers: Iterable[KafkaConsumer], condition: Callable[[], bool]) -> list[ConsumerRecord]:
    """Poll all in turn until something holds; what they read, in the order in which it came."""
    everyone = list(consumers)
    deadline_s = time.monotonic() + PATIENCE_S
    read: list[ConsumerRecord] = []
    while not condition():
        assert time.monotonic() < deadline_s, f"not in time, after {len(read)} records: {everyone}"
        for consumer in everyone:
            read += consumer.poll(0.02)
    return read


def read(consumer: KafkaConsumer, count: int) -> list[ConsumerRecord]:
    """The next `count` records, and no more if the consumer's max.poll.records allows."""
    found: list[ConsumerRecord] = []
    deadline_s = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline_s, f"not in time, after {len(found)} records: {consumer}"
        found += consumer.poll(1)
    return found
