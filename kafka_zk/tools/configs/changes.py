"""What --add-config, --add-config-file and --delete-config ask for.

Role        Reads the file and warns; else pure.
Source      ConfigCommand.parseConfigsToBeAdded, parseConfigsToBeDeleted.
"""

from __future__ import annotations

import re

from kafka_zk.tools.common.command_config import read_command_config
from kafka_zk.tools.common.java_output import hash_order, illegal_argument
from kafka_zk.tools.common.java_values import drop_empty_tail
from kafka_zk.tools.common.options import Options

FORMAT_VERSION = "message.format.version"
# A comma or an equals sign inside square brackets belongs to the value.
_COMMA = re.compile(r",(?=[^\]]*(?:\[|$))")
_EQUALS = re.compile(r"\s*=\s*(?=[^\]]*(?:\[|$))")
_KEY = re.compile(r"[a-zA-Z0-9._-]*")


def to_add(options: Options) -> dict[str, str]:
    """Keys and values, in Java's order. Raises JavaError."""
    values: dict[str, str] = {}
    path = options.text("add-config-file")
    if path is not None:
        values |= read_command_config(path)
    text = options.text("add-config")
    if text is not None:
        pairs = [_EQUALS.split(part) for part in drop_empty_tail(_COMMA.split(text)) or [""]]
        if any(len(pair) != 2 for pair in pairs):
            raise illegal_argument(
                'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val".'
            )
        values |= {key.strip(): re.sub(r"[\[\]]", "", value).strip() for key, value in pairs}
    if FORMAT_VERSION in values:
        print(
            f"WARNING: The configuration {FORMAT_VERSION}={values[FORMAT_VERSION]} is specified. This configuration "
            "will be ignored if the version is newer than the inter.broker.protocol.version specified in the broker or "
            "if the inter.broker.protocol.version is 3.0 or newer. This configuration is deprecated and it will be "
            "removed in Apache Kafka 4.0."
        )
    for key in values:
        if not _KEY.fullmatch(key):
            raise illegal_argument(f"Invalid character found for config key: {key}")
    return {key: values[key] for key in hash_order(values)}


def to_delete(options: Options) -> list[str]:
    """Keys, in the order given."""
    keys: list[str] = []
    for text in options.texts("delete-config"):
        keys += [part for part in text.split(",") if part] or [text]
    return [key.strip() for key in keys]
