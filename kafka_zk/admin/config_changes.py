"""Configurations that somebody changed in ZooKeeper reach those whom they are about: logs and quotas.

Role        Acts: follows /config/changes. A notice only says where to look; what counts is read from there.
Invariants  At start every entity's overrides are applied once, after the listener stands: none can fall between.
Source      DynamicConfigManager, ZkConfigManager, TopicConfigHandler, UserConfigHandler, IpConfigHandler.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping

from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import InvalidConfig
from kafka_zk.zk.entity_configs import entities_with_config, entity_config, entity_configs, quota_entities
from kafka_zk.zk.sequence_listener import SequenceListener
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import ConfigChangesZNode, ConfigChangeZNode, entities_of, entity_path

log = logging.getLogger("kafka.server.ZkConfigManager")

TopicOverridesHandler = Callable[[str, Mapping[str, str]], None]
"""Called with a topic and all its overrides."""

QuotaOverridesHandler = Callable[[tuple[tuple[str, str | None], ...], Mapping[str, str]], None]
"""Called with a user, a client id, both, or an ip (as `entities_of` reads its path), and all its overrides."""

QUOTA_TYPES = ("clients", "users", "ips")


class ConfigChangeListener:
    """Applies the overrides of topics and quotas, now and whenever they change."""

    def __init__(
        self, zk: ZkClient, clock: Clock, on_topic: TopicOverridesHandler, on_quotas: QuotaOverridesHandler
    ) -> None:
        self._zk = zk
        self._on_topic = on_topic
        self._on_quotas = on_quotas
        self._listener = SequenceListener(zk, ConfigChangesZNode.PATH, "config_change_", self._handle, clock)

    def start(self) -> None:
        """Blocks. Apply what is there, then follow the changes."""
        self._listener.start()
        topics = entities_with_config(self._zk, "topics")
        paths = {entity_path(("topics", topic)): topic for topic in topics}
        for path, overrides in entity_configs(self._zk, paths).items():
            try:
                self._on_topic(paths[path], overrides)
            except InvalidConfig as error:
                # No log of that topic is here, or the start would have been refused when it was opened.
                log.error("%s", error)
        for path, overrides in entity_configs(self._zk, quota_entities(self._zk)).items():
            try:
                self._on_quotas(tuple(entities_of(path)), overrides)
            except InvalidConfig as error:
                # Kafka would not start; a quota that nobody can read must not cost the broker.
                log.error("%s", error)

    def stop(self) -> None:
        """Blocks."""
        self._listener.stop()

    def _handle(self, data: bytes | None) -> None:
        path = ConfigChangeZNode.decode(data)
        entities = entities_of(path)
        entity_type, name = entities[0]
        if entity_type in QUOTA_TYPES:
            overrides = entity_config(self._zk, path)
            log.info("Processing override for entityPath: %s with config: %s", path, json.dumps(sorted(overrides)))
            self._on_quotas(tuple(entities), overrides)
            return
        if entity_type != "topics" or name is None:
            log.info("Configuration of %s changed; this broker applies it at its next start", path)
            return
        overrides = entity_config(self._zk, path)
        log.info("Processing override for entityPath: %s with config: %s", path, json.dumps(overrides))
        self._on_topic(name, overrides)
