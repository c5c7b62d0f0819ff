"""The configuration of a topic or of this broker: described and altered.

Role        Acts: reads and writes the overrides in ZooKeeper, and the loggers of this process. Each write
            is announced to all brokers, which is also how it reaches this one.
Invariants  Nothing is written before all changes of a resource are validated. Concurrent changes of different keys do
            not undo each other.
Source      ConfigHelper.describeConfigs; ConfigAdminManager, ZkAdminManager.alterConfigs, incrementalAlterConfigs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from kafka_zk.admin.broker_configs import BrokerConfigs
from kafka_zk.admin.config_rules import Change, ConfigResourceType, Operation, changed, check_levels
from kafka_zk.admin.topic_rules import check_name
from kafka_zk.config.describe import ConfigEntry, describe_broker, describe_broker_defaults, describe_topic
from kafka_zk.config.dynamic import is_password
from kafka_zk.config.errors import ConfigException, RefusedOverride
from kafka_zk.config.tables.broker import BROKER_KEYS
from kafka_zk.config.tables.topic import TOPIC_KEYS
from kafka_zk.config.topic import validate_overrides
from kafka_zk.config.values import java_integer
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.protocol.errors import BrokerError, InvalidConfig, InvalidRequest, UnknownTopicOrPartition
from kafka_zk.zk import entity_configs
from kafka_zk.zk.entity_configs import entity_config
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import entity_path
from kafka_zk.zk.znodes.names import may_be_znode
from kafka_zk.zk.znodes.properties_order import in_properties_order

__all__ = ["Change", "ConfigAdmin", "ConfigResourceType", "Operation"]

log = logging.getLogger("kafka.server.ZkAdminManager")


class Loggers(Protocol):
    """The loggers of this process and their levels."""

    def all(self) -> dict[str, str]: ...

    def set(self, logger_name: str, level: str) -> None: ...

    def unset(self, logger_name: str) -> None: ...


class ConfigAdmin:
    """Describes and alters configurations."""

    def __init__(
        self,
        zk: ZkClient,
        metadata_cache: MetadataCache,
        broker_configs: BrokerConfigs,
        broker_id: int,
        loggers: Loggers,
    ) -> None:
        self._zk = zk
        self._metadata_cache = metadata_cache
        self._broker_configs = broker_configs
        self._config = broker_configs.config
        self._broker_id = broker_id
        self._loggers = loggers

    # --- what it is --------------------------------------------------------------------------------------------------

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
        self._check_own_id(name, "Broker", " or empty string,")
        return describe_broker(self._config, names)

    def log_levels(self, name: str, names: Iterable[str] | None) -> dict[str, str]:
        """The level of every logger of this broker, or of those in `names`."""
        if not name:
            raise InvalidRequest("Broker id must not be empty")
        self._check_own_id(name, "Broker", "")
        levels = self._loggers.all()
        return levels if names is None else {logger: levels[logger] for logger in names if logger in levels}

    # --- what it becomes ---------------------------------------------------------------------------------------------

    def check_broker(self, name: str, changes: Sequence[Change], *, keep_others: bool) -> None:
        """Blocks. Raise InvalidRequest unless the configuration of broker `name` ("": of all brokers) may become so."""
        self._check_node(name)
        stored = entity_config(self._zk, _broker_path(name)) if keep_others else {}
        self._broker_values(name, changes, stored)

    def alter_broker(self, name: str, changes: Sequence[Change], *, keep_others: bool, validate_only: bool) -> None:
        """Blocks. Change the stored values of broker `name` ("": of all brokers), or replace them all by `changes`."""
        self._check_node(name)

        def change(stored: dict[str, str]) -> dict[str, str] | None:
            texts = self._broker_values(name, changes, stored)
            if validate_only:
                return None
            whose = f"broker {self._broker_id}" if name else "brokers"
            log.info("Updating %s with new configuration : %s", whose, _loggable(texts))
            with _refusals_of(ConfigResourceType.BROKER, name):
                if name:
                    self._broker_configs.reload(texts)
                return self._broker_configs.to_store(texts, for_all_brokers=not name)

        self._change(_broker_path(name), change, keep_others=keep_others)

    def alter_topic(self, topic: str, changes: Sequence[Change], *, keep_others: bool, validate_only: bool) -> None:
        """Blocks. Change the overrides of a topic, or replace them all by `changes`."""
        if not topic:
            raise InvalidRequest("Default topic resources are not allowed.")
        if keep_others and not may_be_znode(topic):
            # Kafka reads the overrides before it asks whether there is such a topic.
            raise BrokerError(f"Invalid path of a znode: {topic!r}")

        def change(stored: dict[str, str]) -> dict[str, str] | None:
            overrides = changed(stored, changes, TOPIC_KEYS)
            if self._metadata_cache.topic(topic) is None:
                raise UnknownTopicOrPartition(f"The topic '{topic}' does not exist.")
            check_name(topic)
            with _refusals_of(ConfigResourceType.TOPIC, topic):
                # Of several unknown keys, Kafka names the first of its own order.
                validate_overrides(self._config, in_properties_order(overrides))
            if validate_only:
                return None
            log.info("Updating topic %s with new configuration : %s", topic, _loggable(overrides))
            return overrides

        self._change(entity_path(("topics", topic)), change, keep_others=keep_others)

    def alter_log_levels(self, name: str, changes: Sequence[Change], *, validate_only: bool) -> None:
        """Change levels of this broker's loggers, until it stops."""
        self._check_own_logger_id(name)
        check_levels(changes, self._loggers.all())
        if validate_only:
            return
        for operation, logger, level in changes:
            if operation == Operation.SET and level is not None:
                log.info("Updating the log level of %s to %s", logger, level)
                self._loggers.set(logger, level)
            else:
                log.info("Unset the log level of %s", logger)
                self._loggers.unset(logger)

    def _broker_values(self, name: str, changes: Sequence[Change], stored: Mapping[str, str]) -> dict[str, str]:
        """All values of the layer of broker `name` after `changes` of those that are stored, checked."""
        for_all_brokers = not name
        for change in changes:
            if change.operation not in set(Operation):
                raise InvalidRequest(f"Unknown operations type {change.operation}")
        standing = self._broker_configs.readable(stored, for_all_brokers=for_all_brokers)
        texts = changed(standing, changes, BROKER_KEYS)
        try:
            self._broker_configs.check(texts, for_all_brokers=for_all_brokers)
        except ConfigException as error:
            raise InvalidRequest(str(error)) from error
        return texts

    def _change(self, path: str, change: entity_configs.Change, *, keep_others: bool) -> None:
        """Blocks. Write what `change` makes of the current overrides, or of none, and announce it."""
        if keep_others:
            entity_configs.change_entity_config(self._zk, path, change)
            return
        # The current overrides are not read: they may be unreadable.
        wanted = change({})
        if wanted is not None:
            entity_configs.write_entity_config(self._zk, path, wanted)
            entity_configs.announce_config_change(self._zk, path)

    def _check_node(self, name: str) -> None:
        if name:
            self._check_own_id(name, "Node", ",")

    def _check_own_logger_id(self, name: str) -> None:
        if _broker_id(name, "Node") != self._broker_id:
            # The words are Kafka's, which names its own id twice.
            raise InvalidRequest(f"Unexpected node id. Expected {self._broker_id}, but received {self._broker_id}")

    def _check_own_id(self, name: str, noun: str, alternative: str) -> None:
        if _broker_id(name, noun) != self._broker_id:
            raise InvalidRequest(f"Unexpected broker id, expected {self._broker_id}{alternative} but received {name}")


@contextmanager
def _refusals_of(resource_type: ConfigResourceType, name: str) -> Iterator[None]:
    """Turns an error of the package `config` into the error that the client gets for a resource."""
    try:
        yield
    except RefusedOverride as error:
        raise InvalidConfig(str(error)) from error
    except ConfigException as error:
        resource = f"ConfigResource(type={resource_type.name}, name='{name}')"
        raise InvalidConfig(f"Invalid config value for resource {resource}: {error}") from error


def _broker_id(name: str, noun: str) -> int:
    broker_id = java_integer(name, 32)
    if broker_id is None:
        raise InvalidRequest(f"{noun} id must be an integer, but it is: {name}")
    return broker_id


def _broker_path(name: str) -> str:
    return entity_path(("brokers", str(java_integer(name, 32)) if name else None))


def _loggable(values: Mapping[str, str]) -> str:
    def shown(name: str, text: str) -> str:
        is_plain = name in TOPIC_KEYS or (name in BROKER_KEYS and not is_password(name))
        return f"({name},{text if is_plain else '[hidden]'})"

    return ",".join(shown(name, text) for name, text in values.items())
