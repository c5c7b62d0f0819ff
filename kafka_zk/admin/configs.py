"""What the configuration of a topic or of this broker is, for those who ask.

Role        Acts only in reading a topic's overrides from ZooKeeper.
Source      ConfigHelper.describeConfigs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum

from kafka_zk.admin.topic_rules import check_name
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.describe import ConfigEntry, describe_broker, describe_broker_defaults, describe_topic
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.protocol.errors import InvalidRequest, UnknownTopicOrPartition
from kafka_zk.zk.entity_configs import entity_config
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import entity_path


class ConfigResourceType(IntEnum):
    """What a configuration belongs to, as the wire says it. Source: ConfigResource.Type."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16


class ConfigAdmin:
    """Describes configurations."""

    def __init__(
        self,
        zk: ZkClient,
        metadata_cache: MetadataCache,
        config: BrokerConfig,
        broker_id: int,
        log_levels: Callable[[], dict[str, str]],
    ) -> None:
        """`log_levels` gives the level of each logger of the broker by its name."""
        self._zk = zk
        self._metadata_cache = metadata_cache
        self._config = config
        self._broker_id = broker_id
        self._log_levels = log_levels

    def describe_topic(self, topic: str, names: Iterable[str] | None) -> list[ConfigEntry]:
        """Blocks. All configs of a topic, or those in `names`.

        Raises InvalidTopicException and UnknownTopicOrPartition.
        """
        check_name(topic)
        if self._metadata_cache.topic(topic) is None:
            raise UnknownTopicOrPartition("")  # Kafka leaves this one without words.
        return describe_topic(self._config, entity_config(self._zk, entity_path(("topics", topic))), names)

    def describe_broker(self, name: str, names: Iterable[str] | None) -> list[ConfigEntry]:
        """All configs of this broker, or with an empty `name` those that are set for all brokers of the cluster."""
        if not name:
            return describe_broker_defaults(self._config, names)
        self._check_own_id(name, "or empty string, ")
        return describe_broker(self._config, names)

    def log_levels(self, name: str, names: Iterable[str] | None) -> dict[str, str]:
        """The level of every logger of this broker, or of those in `names`."""
        if not name:
            raise InvalidRequest("Broker id must not be empty")
        self._check_own_id(name, "")
        levels = self._log_levels()
        return levels if names is None else {logger: levels[logger] for logger in names if logger in levels}

    def _check_own_id(self, name: str, alternative: str) -> None:
        try:
            broker_id = int(name)
        except ValueError:
            raise InvalidRequest(f"Broker id must be an integer, but it is: {name}") from None
        if broker_id != self._broker_id:
            raise InvalidRequest(f"Unexpected broker id, expected {self._broker_id} {alternative}but received {name}")
