"""What Kafka's own classes say: vectors, captured frames, definitions; and Kafka's JSON form of our objects."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages import consumer_protocol, principal_data, records
from kafka_zk.protocol.types import uuid_to_base64
from kafka_zk.protocol.value import Value

WIRE = Path(__file__).parents[2] / "golden" / "wire"
CAPTURES = (
    "java-clients-and-brokers",
    "librdkafka-and-kafka-python",
    "inter-broker-protocol-2.6",
    "inter-broker-protocol-2.8",
)


def rows(name: str) -> Iterator[dict[str, Any]]:
    with (WIRE / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """Kafka's definitions by message name."""
    return {row["name"]: row for row in rows("definitions")}


def payload_messages() -> list[Message[Any]]:
    """Messages without an API key: records and embedded payloads."""
    modules = (records, consumer_protocol, principal_data)
    return [value for module in modules for value in vars(module).values() if isinstance(value, Message)]


def all_messages() -> list[Message[Any]]:
    return [message for api in API_TABLE.values() for message in (api.request, api.response)] + payload_messages()


def message_of(row: dict[str, Any]) -> Message[Any]:
    """The message of one row of the vectors."""
    if "api_key" not in row:
        return next(message for message in payload_messages() if message.name == row["name"])
    api = API_TABLE[row["api_key"]]
    return api.request if row["kind"] == "request" else api.response


def snake(name: str) -> str:
    """Kafka's name in snake case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def in_range(versions: str | None, version: int) -> bool:
    if not versions or versions == "none":
        return False
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    low, _, high = versions.partition("-")
    return int(low) <= version <= int(high or low)


def as_kafka_json(name: str, value: Value, version: int) -> dict[str, Any]:
    """`value` as Kafka's JsonConverter of the message prints it; records as "<records>"."""
    return _struct_json(definitions()[name]["fields"], value, version)


def _struct_json(fields: list[dict[str, Any]], value: Value, version: int) -> dict[str, Any]:
    result = {}
    for field in fields:
        if not in_range(field["versions"], version):
            continue
        held = getattr(value, snake(field["name"]))
        if "tag" in field and held == default_of(field, value):
            continue
        camel = field["name"][0].lower() + field["name"][1:]
        if field["type"] == "records":
            result[camel] = "<records>"
        else:
            result[camel] = _json(field, held, version)
    return result


def default_of(field: dict[str, Any], owner: Value) -> Any:
    """What a new object of the same class holds."""
    return getattr(type(owner)(), snake(field["name"]))


def _json(field: dict[str, Any], held: Any, version: int) -> Any:
    if isinstance(held, list):
        return [_json(field, item, version) for item in held]
    if isinstance(held, Value):
        return _struct_json(field["fields"], held, version)
    if isinstance(held, UUID):
        return uuid_to_base64(held)
    if isinstance(held, (bytes, bytearray, memoryview)):
        return base64.b64encode(held).decode()
    return held


def without_records(value: Any) -> Any:
    """Kafka's JSON with every form of a records field replaced, as `as_kafka_json` writes it."""
    if isinstance(value, dict):
        return {
            "records" if key == "recordsSizeInBytes" else key: "<records>"
            if key in {"records", "recordsSizeInBytes"}
            else without_records(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [without_records(item) for item in value]
    return value
