"""What a tool's client may fail with, and the tool tells in Java's words.

Role        Pure.
"""

from __future__ import annotations

from kafka_zk.client.errors import KafkaException
from kafka_zk.config.errors import ConfigException
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.tools.java_output import JavaError

FAILURES = (JavaError, ConfigException, KafkaException, BrokerError)
