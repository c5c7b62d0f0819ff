"""Errors that only a producer can meet.

Role        Pure.
Source      Kafka 3.9 org.apache.kafka.clients.producer.BufferExhaustedException, TransactionAbortedException.
"""

from __future__ import annotations

from kafka_zk.client.errors import ERRORS_PACKAGE, KafkaException, TimeoutException


class BufferExhaustedException(TimeoutException):
    """buffer.memory was exhausted for longer than max.block.ms."""

    java_class = "org.apache.kafka.clients.producer.BufferExhaustedException"


class TransactionAborted(KafkaException):
    """The record was never sent: its transaction was aborted before."""

    java_class = ERRORS_PACKAGE + "TransactionAbortedException"

    def __init__(self) -> None:
        super().__init__("Failing batch since transaction was aborted")
