"""Clients of librdkafka (confluent-kafka): short to make, closed at the end, heard when they report an error."""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.processes import POLL_S
from tests.support.raw_client import RawClient
from tests.support.wire import wait_for_brokers

PATIENCE_S = 30
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

Header = tuple[str, bytes | None]


@dataclass(frozen=True)
class Written:
    """A record as a client hands it over or gets it back. No timestamp: the client's clock."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    timestamp_ms: int | None = None


def close(consumer: Consumer) -> None:
    """Waits PATIENCE_S at most. librdkafka 2.16.1 once waited for ever: its brokers (Apache's) had been killed several
    times, served again, and then were killed for good, which did not end it either."""
    closing = threading.Thread(target=consumer.close, daemon=True)
    closing.start()
    closing.join(PATIENCE_S)
    if closing.is_alive():
        warnings.warn(f"librdkafka did not close a consumer within {PATIENCE_S} s", stacklevel=2)


def as_written(message: Message, *, with_timestamp: bool = False) -> Written:
    assert message.error() is None, message.error()
    headers = tuple((name, value) for name, value in message.headers() or ())
    return Written(message.value(), message.key(), headers, message.timestamp()[1] if with_timestamp else None)


class Librdkafka:
    """Makes the clients of one broker. `errors` is whatever their error callbacks were told."""

    _topics = itertools.count(1)

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.errors: list[KafkaError] = []
        # Apache's broker names no broker for some milliseconds after its start, and librdkafka parts from all it knows.
        with RawClient(bootstrap.split(",")[0]) as client:
            wait_for_brokers(client)
        self.admin = AdminClient(self._settings({}))
        self._consumers: list[Consumer] = []

    def close(self) -> None:
        for consumer in self._consumers:
            close(consumer)

    def producer(self, **settings: object) -> Producer:
        return Producer(self._settings(settings))

    def consumer(self, **settings: object) -> Consumer:
        """Without a group of its own it commits nothing and starts at the beginning."""
        defaults: dict[str, object] = {
            "group.id": "nobody",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
        }
        consumer = Consumer(defaults | self._settings(settings))
        self._consumers.append(consumer)
        return consumer

    def leave(self, consumer: Consumer) -> None:
        self._consumers.remove(consumer)
        close(consumer)

    def topic(self, partitions: int = 1, **configs: object) -> str:
        """A new topic; `max_message_bytes=10` is its config max.message.bytes. It keeps records of any age."""
        name = f"topic-{next(self._topics)}"
        given = {"retention.ms": "-1"} | {key.replace("_", "."): str(value) for key, value in configs.items()}
        deadline = time.monotonic() + PATIENCE_S
        while True:
            wanted = [NewTopic(name, partitions, 1, config=given)]
            created = self.admin.create_topics(wanted, operation_timeout=PATIENCE_S)
            try:
                created[name].result(PATIENCE_S)
                return name
            except TimeoutError as error:
                text = f"{name} was not created after {PATIENCE_S} s; librdkafka: {self.errors}"
                raise AssertionError(text) from error
            except KafkaException as error:
                # Between two controllers, as when a busy machine cost the broker its session; Java's client asks again.
                if error.args[0].code() != KafkaError.NOT_CONTROLLER or time.monotonic() > deadline:
                    raise
            time.sleep(POLL_S)

    def write(self, topic: str, records: Iterable[Written], **settings: object) -> list[Message]:
        """Produce; every record must be acknowledged. The delivery reports, in the order they came."""
        reports = self.try_to_write(topic, records, **settings)
        refused = {str(report.error()) for report in reports if report.error() is not None}
        assert not refused, refused
        return reports

    def try_to_write(
        self, topic: str, records: Iterable[Written], *, partition: int | None = None, **settings: object
    ) -> list[Message]:
        """Produce and wait for every report, good or bad."""
        reports: list[Message] = []
        producer = self.producer(**settings)
        for record in records:
            optional: dict[str, Any] = {} if partition is None else {"partition": partition}
            if record.timestamp_ms is not None:
                optional["timestamp"] = record.timestamp_ms
            while True:
                try:
                    producer.produce(
                        topic,
                        record.value,
                        record.key,
                        headers=list(record.headers),
                        on_delivery=lambda _, message: reports.append(message),
                        **optional,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(PATIENCE_S) == 0, f"records never acknowledged; errors: {self.errors}"
        return reports

    def read(self, topic: str, count: int, *, partition: int = 0, **settings: object) -> list[Message]:
        """The first `count` messages of a partition."""
        consumer = self.consumer(**settings)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        messages = take(consumer, count)
        self.leave(consumer)
        return messages

    def _settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        named = {key if key == "on_commit" else key.replace("_", "."): value for key, value in settings.items()}
        return {
            "bootstrap.servers": self.bootstrap,
            "error_cb": self.errors.append,
            "log_level": 3,
            "broker.address.family": "v4",
            **named,
        }


def offsets_committed_by(consumer: Consumer, partitions: Sequence[TopicPartition]) -> list[int]:
    """What the consumer's group has committed, by whichever broker coordinates it; -1001 where there is nothing.

    librdkafka looks for the coordinator again when a broker answers NOT_COORDINATOR, as one does that has just lost the
    group, but hands the error to the caller, who has to ask again. (Java's consumer asks again by itself.)
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return [found.offset for found in consumer.committed(list(partitions), PATIENCE_S)]
        except KafkaException as error:
            if error.args[0].code() != KafkaError.NOT_COORDINATOR or time.monotonic() > deadline:
                raise


def take(consumer: Consumer, count: int) -> list[Message]:
    """Exactly `count` messages, or a failure that says how many came."""
    messages: list[Message] = []
    while len(messages) < count:
        found = consumer.consume(count - len(messages), PATIENCE_S)
        assert found, f"only {len(messages)} of {count} messages in {PATIENCE_S} s"
        messages += found
    return messages


def poll_until(consumers: Sequence[Consumer], condition: Any, rounds: int = 600) -> list[Message]:
    """Poll all in turn until the condition holds; what they read meanwhile."""
    messages = []
    for _ in range(rounds):
        for consumer in consumers:
            message = consumer.poll(0.05)
            if message is not None:
                messages.append(message)
        if condition():
            return messages
    raise AssertionError(f"not so after {rounds} rounds")
