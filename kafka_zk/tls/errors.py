"""What is wrong with the TLS settings of a listener or client, in Kafka's words.

Role        Pure.
Source      InvalidConfigurationException and KafkaException, as DefaultSslEngineFactory throws them.
"""

from __future__ import annotations

from kafka_zk.config.errors import ConfigException

INVALID = "org.apache.kafka.common.errors.InvalidConfigurationException"
FAILED = "org.apache.kafka.common.KafkaException"


class TlsError(ConfigException):
    """A store, name or rule that cannot be used. The text never holds key material or a password.

    `text` is Kafka's sentence, `why` our reason behind it; `java_class` is what Kafka throws, and prints before the
    text where it nests one error in another.
    """

    def __init__(self, text: str, why: str = "", java_class: str = INVALID) -> None:
        super().__init__(f"{text}: {why}" if why else text)
        self.text = text
        self.java_class = java_class

    @property
    def as_java(self) -> str:
        """As Java's toString."""
        return f"{self.java_class}: {self.text}"
