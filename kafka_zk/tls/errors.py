"""What is wrong with the TLS settings of a listener or client, in Kafka's words.

Role        Pure.
Source      InvalidConfigurationException and KafkaException, as DefaultSslEngineFactory throws them.
"""

from __future__ import annotations

from kafka_zk.config.errors import ConfigException


class TlsError(ConfigException):
    """A store, name or rule that cannot be used. The text never holds key material or a password."""
