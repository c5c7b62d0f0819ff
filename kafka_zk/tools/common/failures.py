"""Errors of the tools: in Java's words, or in one sentence.

Role        Pure.
"""

from __future__ import annotations

from kafka_zk.client.errors import KafkaException
from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.tools.common.java_output import JavaError

FAILURES = (JavaError, ConfigException, KafkaException, BrokerError)


class Refused(Exception):
    """The tool ends with this sentence on stderr, without trace or usage."""
