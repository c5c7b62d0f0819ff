"""Errors that only a producer can meet.

Role        Pure.
Source      Kafka 3.9 org.apache.kafka.clients.producer.BufferExhaustedException.
"""

from __future__ import annotations

from kafka_zk.client.errors import TimeoutException


class BufferExhaustedException(TimeoutException):
    """buffer.memory was exhausted for longer than max.block.ms."""

    java_class = "org.apache.kafka.clients.producer.BufferExhaustedException"
