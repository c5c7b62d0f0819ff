"""Notifies the parts of this broker of configurations that were changed in ZooKeeper.

Role        Acts: follows /config/changes. A notification only names the znode, which is then read.
Invariants  At start the overrides of every entity are applied once, after the watch is set and before any change that
            it reports: no change is missed, and none is undone by an older read.
Source      DynamicConfigManager, ZkConfigManager, ConfigHandler.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping

from kafka_zk.clock import Clock
from kafka_zk.config.layers import listener_key_base
from kafka_zk.config.tables.broker import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from kafka_zk.config.values import ConfigType
from kafka_zk.protocol.errors import InvalidConfig
from kafka_zk.security.quotas.limits import Entity
from kafka_zk.zk.entity_configs import entities_with_config, entity_config, entity_configs, quota_entities
from kafka_zk.zk.sequence_listener import SequenceListener
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import ConfigChangesZNode, ConfigChangeZNode, entities_of

log = logging.getLogger("kafka.server.ZkConfigManager")

EntityHandler = Callable[[Entity, Mapping[str, str]], None]
"""Called with an entity and all its overrides; may block. InvalidConfig is logged, with the entity as it was."""

QUOTA_TYPES = ("clients", "users", "ips")


def in_turn(first: EntityHandler, second: EntityHandler) -> EntityHandler:
    """One handler that does what two do; what the first raises keeps nothing from the second."""

    def handle(entity: Entity, overrides: Mapping[str, str]) -> None:
        try:
            first(entity, overrides)
        finally:
            second(entity, overrides)

    return handle


class ConfigChangeListener:
    """Passes entities (topics, brokers, users, clients, ips) to the handler of their type, at start and on each change.

    What belongs to a user's clients goes to the handler of users.
    """

    def __init__(self, zk: ZkClient, clock: Clock, handlers: Mapping[str, EntityHandler]) -> None:
        self._zk = zk
        self._handlers = handlers
        self._listener = SequenceListener(zk, ConfigChangesZNode.PATH, "config_change_", self._handle, clock)

    def start(self) -> None:
        """Blocks. Apply the stored configs, then follow changes."""
        self._listener.start(before_following=self._apply_all)

    def _apply_all(self) -> None:
        """Blocks. Passes every entity's stored configuration to its handler."""
        for path, overrides in entity_configs(self._zk, self._paths()).items():
            entity = tuple(entities_of(path))
            handler = self._handlers.get(entity[0][0])
            if handler is None:
                continue
            try:
                handler(entity, overrides)
            except InvalidConfig as error:
                # Kafka would not start; unreadable data must not stop the broker.
                log.error("%s", error)

    def read_again(self, kind: str, use: Callable[[Mapping[str, Mapping[str, str]]], object]) -> None:
        """Soon give `use` the overrides of all entities of a kind, by name, in order with the notices.

        For what must not miss a notice: those of the time without a session may be gone.
        """

        def read() -> None:
            found = entity_configs(self._zk, [f"{kind}/{name}" for name in entities_with_config(self._zk, kind)])
            named = ((entities_of(path)[0][1], overrides) for path, overrides in found.items())
            use({name: overrides for name, overrides in named if name is not None})

        self._listener.run_soon(read)

    def stop(self) -> None:
        """Blocks. Stop following /config/changes."""
        self._listener.stop()

    def _paths(self) -> Iterable[str]:
        """Blocks. Every entity that has a configuration, in the form of its path."""
        found = [f"{kind}/{name}" for kind in ("topics", "brokers") for name in entities_with_config(self._zk, kind)]
        return [*found, *quota_entities(self._zk)]

    def _handle(self, data: bytes | None) -> None:
        path = ConfigChangeZNode.decode(data)
        entities = tuple(entities_of(path))
        handler = self._handlers.get(entities[0][0])
        if handler is None:
            log.info("Ignoring the configuration change of %s: this broker does not use it", path)
            return
        overrides = entity_config(self._zk, path)
        kind = entities[0][0]
        shown = {name: "[hidden]" if _is_secret(kind, name) else text for name, text in overrides.items()}
        log.info("Processing override for entityPath: %s with config: %s", path, json.dumps(shown))
        handler(entities, overrides)


def _is_secret(entity_type: str, name: str) -> bool:
    """As for DescribeConfigs, an undeclared key of a broker may be the password of a plug-in."""
    if entity_type != "brokers":
        return name.startswith("SCRAM-")
    base = listener_key_base(name)
    row = BROKER_KEYS.get(base) or DYNAMIC_ONLY_KEYS.get(base)
    return row is None or row.type is ConfigType.PASSWORD
