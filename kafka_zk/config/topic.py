"""LogConfig: the typed view of one topic's configuration, with the broker's values as defaults.

Role        Pure. Log and replication read attributes; a change of topic or broker configuration makes a new object.
Invariants  An attribute is its key in snake case. `overrides` holds only what was set on the topic itself, `values`
            every key's parsed value before anything is resolved.
Source      LogConfig.java (fromProps, validate, extractLogConfigMap of KafkaConfig).
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.declaration import Config
from kafka_zk.config.errors import ConfigException, RefusedOverride
from kafka_zk.config.metadata_version import find_version
from kafka_zk.config.tables.broker import BROKER_KEYS
from kafka_zk.config.tables.topic import TOPIC_KEYS
from kafka_zk.config.throttled_replicas import NONE_THROTTLED, ThrottledReplicas
from kafka_zk.config.topic_attributes import TopicAttributes
from kafka_zk.config.values import ConfigValue


class LogConfig(TopicAttributes):
    """All topic keys as attributes."""

    overrides: dict[str, str]
    values: dict[str, ConfigValue]
    throttled_leaders: ThrottledReplicas
    throttled_followers: ThrottledReplicas

    @classmethod
    def from_overrides(cls, broker_config: BrokerConfig, overrides: Mapping[str, str]) -> LogConfig:
        """The configuration of a topic with `overrides`; unknown keys in them are kept and mean nothing.

        Raises ConfigException when a value is wrong. Rules between keys are checked by `validate_overrides`, which
        guards what users may write; what is stored already is taken as it is.
        """
        config = cls()
        config.overrides = dict(overrides)
        config.values = {
            name: row.parse(overrides[name]) if name in overrides else _default(broker_config, row)
            for name, row in TOPIC_KEYS.items()
        }
        for name, value in config.values.items():
            setattr(config, TOPIC_KEYS[name].attribute, value)
        config._resolve()
        return config

    def _resolve(self) -> None:
        version = find_version(str(self.message_format_version))
        assert version is not None, "the validator let only known versions pass"
        self.message_format_version = version
        # The older single limit counts where the newer key was left alone.
        if self.message_timestamp_before_max_ms == TOPIC_KEYS["message.timestamp.before.max.ms"].default:
            self.message_timestamp_before_max_ms = self.message_timestamp_difference_max_ms
        if self.message_timestamp_after_max_ms == TOPIC_KEYS["message.timestamp.after.max.ms"].default:
            self.message_timestamp_after_max_ms = self.message_timestamp_difference_max_ms

        self.throttled_leaders = _throttled(self.leader_replication_throttled_replicas)
        self.throttled_followers = _throttled(self.follower_replication_throttled_replicas)

    @property
    def compact(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        return "delete" in self.cleanup_policy

    def __repr__(self) -> str:
        return f"LogConfig({', '.join(f'{name}={value}' for name, value in sorted(self.overrides.items()))})"


def validate_overrides(broker_config: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """Raise ConfigException unless a user may give a topic these `overrides`."""
    for name in overrides:
        if name not in TOPIC_KEYS:
            raise RefusedOverride(f"Unknown topic config name: {name}")
    config = LogConfig.from_overrides(broker_config, overrides)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise RefusedOverride(
            f"conflict topic config setting min.compaction.lag.ms ({config.min_compaction_lag_ms}) > "
            f"max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )
    if config.remote_log_delete_on_disable or config.remote_log_copy_disable:
        raise RefusedOverride(
            "It is invalid to set `remote.log.delete.on.disable` or `remote.log.copy.disable` under Zookeeper's mode."
        )
    if config.remote_storage_enable:
        raise ConfigException(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


def _throttled(entries: list[str]) -> ThrottledReplicas:
    return ThrottledReplicas(entries) if entries else NONE_THROTTLED


def _default(broker_config: BrokerConfig, row: Config) -> ConfigValue:
    """What a topic without `row` gets: the outcome of the broker's keys, or the row's own default."""
    if not row.broker_keys:
        return row.default_value()
    value: ConfigValue = getattr(broker_config, BROKER_KEYS[row.broker_keys[0]].attribute)
    return list(value) if isinstance(value, list) else value
