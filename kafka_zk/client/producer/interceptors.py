"""Calls the producer's interceptors before each send and after each result.

Role        Calls the configured code; whatever it raises is logged and ignored.
Source      Kafka 3.9 ProducerInterceptor, ProducerInterceptors.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from kafka_zk.client.config import ClientConfig
from kafka_zk.client.producer.futures import RecordMetadata
from kafka_zk.client.serialization import class_named

log = logging.getLogger("org.apache.kafka.clients.producer.internals.ProducerInterceptors")


class ProducerRecord(NamedTuple):
    """The arguments of `send`."""

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


class Interceptors:
    """The interceptors of interceptor.classes, in order. Each may have `on_send`, `on_acknowledgement` and `close`."""

    def __init__(self, interceptors: Sequence[Any]) -> None:
        self._interceptors = list(interceptors)

    def __bool__(self) -> bool:
        return bool(self._interceptors)

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """The record as returned by the last interceptor."""
        for each in self._interceptors:
            try:
                record = each.on_send(record) if hasattr(each, "on_send") else record
            except Exception:
                # Code of the program; as in Java, its errors do not stop the others.
                log.warning("Error executing interceptor onSend callback for topic: %s, partition: %s",
                            record.topic, record.partition, exc_info=True)  # fmt: skip
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        for each in self._interceptors:
            try:
                if hasattr(each, "on_acknowledgement"):
                    each.on_acknowledgement(metadata, error)
            except Exception:
                # Code of the program; as in Java, its errors do not stop the others.
                log.warning("Error executing interceptor onAcknowledgement callback", exc_info=True)

    def close(self) -> None:
        for each in self._interceptors:
            try:
                if hasattr(each, "close"):
                    each.close()
            except Exception:
                # Code of the program; as in Java, its errors do not stop the others.
                log.exception("Failed to close producer interceptor ")


def interceptors_of(config: ClientConfig) -> Interceptors:
    """From interceptor.classes: dotted names of Python classes, classes, or objects. Raises ConfigException."""
    given = config.given("interceptor.classes")
    wanted = given if isinstance(given, (list, tuple)) else config.texts("interceptor.classes")
    made = []
    for each in wanted:
        found = class_named("interceptor.classes", each) if isinstance(each, str) else each
        made.append(found() if isinstance(found, type) else found)
    return Interceptors(made)
