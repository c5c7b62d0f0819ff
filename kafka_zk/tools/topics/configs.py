"""Topic configs checked by a tool before anything is sent.

Role        Checks and warns. A module of its own, since the tables cost more to load than most commands take.
Source      TopicCommand.parseTopicConfigsToBeAdded, LogConfig.validate without a broker's configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.tables.topic import TOPIC_KEYS
from kafka_zk.protocol.errors import InvalidConfig
from kafka_zk.tools.common.java_output import hash_order

FORMAT_VERSION = "message.format.version"


def check_overrides(overrides: Mapping[str, str]) -> None:
    """Raise InvalidConfig for an unknown name or a contradiction, ConfigException for a wrong value."""
    check_names(overrides)
    values = TOPIC_KEYS.parse_all(overrides)
    shortest, longest = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if not isinstance(shortest, int) or not isinstance(longest, int):
        raise ConfigException("both compaction lags are numbers")
    if shortest > longest:
        raise InvalidConfig(
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > max.compaction.lag.ms ({longest})"
        )
    if FORMAT_VERSION in overrides:
        print(
            f"WARNING: The configuration {FORMAT_VERSION}={overrides[FORMAT_VERSION]} is specified. This configuration "
            "will be ignored if the version is newer than the inter.broker.protocol.version specified in the broker or "
            "if the inter.broker.protocol.version is 3.0 or newer. This configuration is deprecated and it will be "
            "removed in Apache Kafka 4.0."
        )


def check_names(names: Iterable[str]) -> None:
    """Raise InvalidConfig for a name that no topic config has."""
    for name in hash_order(names):
        if name not in TOPIC_KEYS:
            raise InvalidConfig(f"Unknown topic config name: {name}")
