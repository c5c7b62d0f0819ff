"""Generates the typed attributes of all configs: `python -m kafka_zk.config.generate`.

Role        Run by a developer after a row changed; a test compares the checked-in files with what this makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kafka_zk.config.declaration import Config, ConfigTable, Required
from kafka_zk.config.tables.broker import BROKER_KEYS
from kafka_zk.config.tables.topic import TOPIC_KEYS
from kafka_zk.config.values import ConfigType

_TYPES = {
    ConfigType.BOOLEAN: "bool",
    ConfigType.INT: "int",
    ConfigType.SHORT: "int",
    ConfigType.LONG: "int",
    ConfigType.DOUBLE: "float",
    ConfigType.LIST: "list[str]",
}
# Attributes that hold more than the parsed text: resolved from synonyms, or parsed further (see broker.py, topic.py).
_BROKER_TYPES = {
    "advertised_listeners": "list[EndPoint]",
    "inter_broker_listener_name": "str",
    "inter_broker_protocol_version": "MetadataVersion",
    "listener_security_protocol_map": "dict[str, str]",
    "listeners": "list[EndPoint]",
    "log_dirs": "list[str]",
    "log_flush_interval_ms": "int",
    "log_message_format_version": "MetadataVersion",
    "log_retention_minutes": "int | None",
    "log_retention_ms": "int",
    "log_roll_jitter_ms": "int",
    "log_roll_ms": "int",
    "max_connections_per_ip_overrides": "dict[str, int]",
    "num_replica_alter_log_dirs_threads": "int",
    "zookeeper_connect": "str",
    "zookeeper_connection_timeout_ms": "int",
}
_TOPIC_TYPES = {"message_format_version": "MetadataVersion"}


def attributes_source(class_name: str, what: str, table: ConfigTable, types: Mapping[str, str]) -> str:
    """The text of a module with one class of annotations, an attribute a key."""
    lines = [f"    {row.attribute}: {types.get(row.attribute) or _python_type(row)}" for row in table.values()]
    body = "\n".join(sorted(lines))
    imports = [
        f"from kafka_zk.config.{module} import {name}\n"
        for module, name in (("endpoints", "EndPoint"), ("metadata_version", "MetadataVersion"))
        if name in body
    ]
    return (
        f'"""The attributes of {what}. Written by kafka_zk.config.generate; do not edit."""\n\n'
        f"from __future__ import annotations\n\n{''.join(imports)}\n\n"
        f'class {class_name}:\n    """One attribute a key, the name in snake case."""\n\n{body}\n'
    )


def _python_type(row: Config) -> str:
    plain = _TYPES.get(row.type, "str")
    return f"{plain} | None" if row.default is None and not isinstance(row.default, Required) else plain


def sources() -> dict[str, str]:
    """File name to text of every generated module."""
    return {
        "broker_attributes.py": attributes_source("BrokerAttributes", "BrokerConfig", BROKER_KEYS, _BROKER_TYPES),
        "topic_attributes.py": attributes_source("TopicAttributes", "LogConfig", TOPIC_KEYS, _TOPIC_TYPES),
    }


def main() -> None:
    for file_name, text in sources().items():
        Path(__file__).with_name(file_name).write_text(text)


if __name__ == "__main__":
    main()
