"""DescribeConfigs entries of a broker or a topic: each key's value, source and synonyms.

Role        Pure. The package `api` turns the entries into a response.
Invariants  A secret, and the value of an undeclared key, never leaves this module: both are None.
            The source of an entry is that of its first synonym.
Source      ConfigHelper.scala: createBrokerConfigEntry, createTopicConfigEntry, configSynonyms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from itertools import dropwhile
from typing import NamedTuple

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.declaration import Config, UpdateMode
from kafka_zk.config.layers import synonyms_of
from kafka_zk.config.support import OWN_KEYS
from kafka_zk.config.tables.broker import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from kafka_zk.config.tables.topic import TOPIC_KEYS
from kafka_zk.config.topic import LogConfig
from kafka_zk.config.values import java_text

_UNKNOWN_TYPE = 0


class ConfigSource(IntEnum):
    """Where a value comes from, as the wire says it."""

    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7


class ConfigSynonym(NamedTuple):
    """One of the places that give a value, the strongest first in a list."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One key as DescribeConfigs shows it; `type_code` is Kafka's (0 unknown, 1 boolean, ... 9 password)."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type_code: int
    documentation: str | None
    synonyms: tuple[ConfigSynonym, ...]


def describe_broker(config: BrokerConfig, names: Iterable[str] | None = None) -> list[ConfigEntry]:
    """Every key of the broker, or those in `names`: the declared ones and what else the user set."""
    shown = [name for name, row in BROKER_KEYS.items() if not row.internal]
    shown += [name for name in config.originals if name not in BROKER_KEYS]
    return [_broker_entry(config, name) for name in _chosen(shown, names)]


def describe_broker_defaults(config: BrokerConfig, names: Iterable[str] | None = None) -> list[ConfigEntry]:
    """The keys that are stored for all brokers (the resource with the empty name), with that layer only."""
    stored = config.layers.dynamic_default
    entries = []
    for name in _chosen(stored, names):
        entry = _broker_entry(config, name)
        synonyms = tuple(
            synonym for synonym in entry.synonyms if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        )
        value = None if entry.sensitive else stored[name]
        source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
        entries.append(entry._replace(value=value, source=source, synonyms=synonyms))
    return entries


def describe_topic(
    config: BrokerConfig, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> list[ConfigEntry]:
    """Every key of a topic with `overrides`, or those in `names`."""
    topic = LogConfig.from_overrides(config, overrides)
    return [_topic_entry(config, topic, TOPIC_KEYS[name]) for name in _chosen(TOPIC_KEYS, names)]


def _topic_entry(config: BrokerConfig, topic: LogConfig, row: Config) -> ConfigEntry:
    value = java_text(topic.values[row.name])
    synonyms = _synonyms(config, row.broker_keys[0], sensitive=False) if row.broker_keys else ()
    if row.name in topic.overrides:
        synonyms = (ConfigSynonym(row.name, value, ConfigSource.TOPIC_CONFIG), *synonyms)
    return ConfigEntry(
        name=row.name,
        value=value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        read_only=False,
        sensitive=False,
        type_code=row.type.value,
        documentation=row.doc,
        synonyms=synonyms,
    )


def _broker_entry(config: BrokerConfig, name: str) -> ConfigEntry:
    row = _row(name)
    sensitive = is_secret_broker_key(name)
    synonyms = _synonyms(config, name, sensitive=sensitive)
    if sensitive:
        value = None
    elif name in BROKER_KEYS:
        value = java_text(config.values[name])
    else:
        value = config.originals[name]
    exact = BROKER_KEYS.get(name)
    # Kafka has no words for a listener's own key, though it knows its type.
    documented = exact or OWN_KEYS.get(name)
    return ConfigEntry(
        name=name,
        value=value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        read_only=exact is None or exact.update_mode is UpdateMode.READ_ONLY,
        sensitive=sensitive,
        type_code=_UNKNOWN_TYPE if row is None else row.type.value,
        documentation=None if documented is None else documented.doc,
        synonyms=synonyms,
    )


def _synonyms(config: BrokerConfig, name: str, *, sensitive: bool) -> tuple[ConfigSynonym, ...]:
    """Every place that has a value for `name` or a synonym, from the first that is called `name` on."""
    family = synonyms_of(name, with_listener_prefix=True)
    layers = config.layers
    found = [
        ConfigSynonym(synonym, None if sensitive else layer[synonym], source)
        for layer, source in (
            (layers.dynamic_broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
            (layers.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (layers.static, ConfigSource.STATIC_BROKER_CONFIG),
        )
        for synonym in family
        if synonym in layer
    ]
    for synonym in family:
        default = BROKER_KEYS[synonym].default_text if synonym in BROKER_KEYS else None
        if default is not None:
            found.append(ConfigSynonym(synonym, None if sensitive else default, ConfigSource.DEFAULT_CONFIG))
    # A weaker key alone does not give the stronger one a value: retention in hours leaves log.retention.ms unset.
    return tuple(dropwhile(lambda synonym: synonym.name != name, found))


def is_secret_broker_key(name: str) -> bool:
    """Whether a broker's value of this key is not shown: that of a password, or of a key that nobody knows."""
    row = _row(name)
    return row is None or row.sensitive


def _row(name: str) -> Config | None:
    """The declaration of a key, that of the general key for a listener's own one."""
    row = BROKER_KEYS.get(name) or DYNAMIC_ONLY_KEYS.get(name) or OWN_KEYS.get(name)
    return row or BROKER_KEYS.get(synonyms_of(name, with_listener_prefix=True)[-1])


def _chosen(available: Iterable[str], names: Iterable[str] | None) -> list[str]:
    wanted = None if names is None else set(names)
    return [name for name in available if wanted is None or name in wanted]
