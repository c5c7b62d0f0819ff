"""A declared message as the JSON that Kafka's generated converters make of it.

Role        Pure. Fields in the order of the declaration, in Kafka's names; those that the version does not have are
            left out, bytes are base64.
Source      JsonConverterGenerator; Jackson's ObjectNode.toString.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import Array, Field, Struct
from kafka_zk.protocol.types import uuid_to_base64
from kafka_zk.protocol.value import Value


def to_json(message: Message[Any], value: Value, version: int) -> dict[str, Any]:
    """`value` as it was read in `version`."""
    return _fields(message.struct.fields, value, version)


def json_text(document: object) -> str:
    """Without spaces, as Jackson writes it."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _fields(fields: tuple[Field, ...], value: Value, version: int) -> dict[str, Any]:
    return {
        camel_case(field.name): _plain(field, getattr(value, field.name), version)
        for field in fields
        if version in field.versions
    }


def _plain(field: Field, value: Any, version: int) -> Any:
    if value is None:
        return None
    kind = field.type
    if isinstance(kind, Array):
        return [_element(kind.element, each, version) for each in value]
    return _element(kind, value, version)


def _element(kind: Any, value: Any, version: int) -> Any:
    if isinstance(kind, Struct):
        return _fields(kind.fields, value, version)
    if kind.name == "bytes":
        return base64.b64encode(value).decode()
    if kind.name == "uuid":
        return uuid_to_base64(value)
    return value


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
