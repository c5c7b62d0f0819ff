"""A producer that writes while brokers change, and what is there in the end."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.types import TopicPartition
from tests.support.processes import wait_until

SERIALIZERS = dict.fromkeys(("key.serializer", "value.serializer"), "ByteArraySerializer")
DESERIALIZERS = dict.fromkeys(("key.deserializer", "value.deserializer"), "ByteArrayDeserializer")


class Writer:
    """Our producer in a thread, with one number after the other; `acked` are those that are written."""

    def __init__(self, config: Mapping[str, str], topic: str, partitions: int) -> None:
        self.acked: list[int] = []
        self.failure: Exception | None = None
        self._topic = topic
        self._partitions = partitions
        # Else, like Java's, it asks only the brokers of its last answer, which may all be gone.
        self._config = {**config, **SERIALIZERS, "acks": "all", "metadata.recovery.strategy": "rebootstrap"}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        number = 0
        try:
            with KafkaProducer(self._config) as producer:
                while not self._over.is_set():
                    producer.send(self._topic, b"%d" % number, partition=number % self._partitions).result(60)
                    self.acked.append(number)
                    number += 1
        except Exception as error:
            # Told by the test: a thread's own error would only be printed.
            self.failure = error

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def goes_on(self) -> None:
        """Blocks until some more records are acknowledged."""
        before = len(self.acked)
        wait_until(lambda: self.failure is not None or len(self.acked) >= before + 20, "more is acknowledged")
        assert self.failure is None, self.failure


def read_all(config: Mapping[str, str], topic: str, partitions: int, count: int) -> list[int]:
    """At least `count` records, copies of a record counted; what fails is the wait."""
    found: list[int] = []
    with KafkaConsumer({**config, **DESERIALIZERS, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition(topic, partition) for partition in range(partitions)])

        def more() -> bool:
            found.extend(int(record.value) for record in consumer.poll(1.0))
            return len(found) >= count

        wait_until(more, f"{count} records are read")
    return found
