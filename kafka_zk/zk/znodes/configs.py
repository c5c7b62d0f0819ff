"""/config: overrides of topics, clients, users, brokers and ips, and change notifications.

Role        Pure.
Source      kafka.zk.ConfigEntityZNode, ConfigEntityChangeNotificationSequenceZNode, DynamicConfigManager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_zk.zk.errors import MalformedZNode
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.znodes import documents
from kafka_zk.zk.znodes.names import CONFIG_TYPES
from kafka_zk.zk.znodes.properties_order import in_properties_order


class ConfigEntityTypeZNode:
    """/config/TYPE: its children are the entities that have a config."""

    @staticmethod
    def path(entity_type: str) -> str:
        return f"/config/{entity_type}"


class ConfigEntityZNode:
    """/config/ENTITY_PATH, for instance /config/users/bob/clients/<default>. Names in it are sanitized already."""

    @staticmethod
    def path(entity_path: str) -> str:
        return f"/config/{entity_path}"

    @staticmethod
    def encode(overrides: Mapping[str, str]) -> bytes:
        return documents.write({"version": 1, "config": in_properties_order(overrides)})

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None, entity_path: str = "") -> dict[str, str]:
        """Raises MalformedZNode. A znode without data (a mere parent) has no overrides."""
        if not data:
            return {}
        path = ConfigEntityZNode.path(entity_path)
        return documents.read(data, path, lambda document: documents.string_map(document.get("config") or {}))

    @staticmethod
    def holds_map(data: bytes | None) -> bool:
        """Whether there is a map of overrides at all. Kafka takes a znode without one, whatever it holds, as empty."""
        try:
            return documents.read(data, "", lambda document: isinstance(document.get("config"), dict))
        except MalformedZNode:
            return False


class ConfigChangesZNode:
    """/config/changes: its children are notices, numbered."""

    PATH = "/config/changes"


class ConfigChangeZNode:
    """/config/changes/config_change_N: which entity's config has changed. Its readers read the config itself."""

    PREFIX = f"{ConfigChangesZNode.PATH}/config_change_"

    @staticmethod
    def encode(entity_path: str) -> bytes:
        return documents.write({"version": 2, "entity_path": entity_path})

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> str:
        """The entity path. Raises MalformedZNode. Version 1 (before 0.10.1) knew topics and clients only."""

        def build(document: dict[str, Any]) -> str:
            version = documents.integer(document["version"])
            if version == 1:
                entity_type = documents.text(document["entity_type"])
                if entity_type not in ("topics", "clients"):
                    raise ValueError(f"version 1 with entity type {entity_type}")
                return f"{entity_type}/{documents.text(document['entity_name'])}"
            if version != 2:
                raise ValueError(f"version {version}")
            entity_path = documents.text(document["entity_path"])
            if entity_path.partition("/")[0] not in CONFIG_TYPES:
                raise ValueError(f"entity path {entity_path}")
            return entity_path

        return documents.read(data, ConfigChangesZNode.PATH, build)
