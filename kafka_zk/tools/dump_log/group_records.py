"""--offsets-decoder: the records of __consumer_offsets.

Role        Pure.
Invariants  Where decoding fails, an error message takes the key's place and the dump continues.
Source      DumpLogSegments.OffsetsMessageParser, CoordinatorRecordSerde.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.consumer_protocol import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION
from kafka_zk.protocol.messages.records import (
    GROUP_METADATA_KEY,
    GROUP_METADATA_VALUE,
    OFFSET_COMMIT_KEY,
    OFFSET_COMMIT_VALUE,
    GroupMetadataValue,
)
from kafka_zk.protocol.versioned import decode_versioned, payload_version
from kafka_zk.record.types import Buffer, Record
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.common.kafka_json import json_text, to_json

_MESSAGES_OF_TYPE: dict[int, tuple[Message[Any], Message[Any]]] = {
    0: (OFFSET_COMMIT_KEY, OFFSET_COMMIT_VALUE),
    1: (OFFSET_COMMIT_KEY, OFFSET_COMMIT_VALUE),
    2: (GROUP_METADATA_KEY, GROUP_METADATA_VALUE),
}
_TYPES_OF_KRAFT = range(3, 9)
_CONSUMER_PROTOCOL = "consumer"
DELETE = "<DELETE>"


class _NotDecoded(Exception):
    """The reason, as printed in the key's place."""


class GroupRecordParser:
    """Offsets and groups."""

    def text(self, record: Record) -> tuple[str | None, str | None]:
        key, payload = self.values(record)
        return _text(key), _text(payload)

    def values(self, record: Record) -> tuple[Any, Any]:
        if record.key is None:
            raise JavaError(
                f"Failed to decode message at offset {record.offset} using offset topic decoder "
                "(message had a missing key)",
                "java.lang.RuntimeException",
            )
        try:
            return _decoded(record.key, record.value, record.offset)
        except _NotDecoded as reason:
            return str(reason), None


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json_text(value)


def _decoded(key: bytes, value: bytes | None, offset: int) -> tuple[Any, Any]:
    record_type = _version(key, "key", offset)
    if record_type not in _MESSAGES_OF_TYPE:
        if record_type in _TYPES_OF_KRAFT:
            raise _NotDecoded(
                f"Record type {record_type} at offset {offset} is of a consumer group as KRaft keeps it, skipping."
            )
        raise _NotDecoded(f"Unknown record type {record_type} at offset {offset}, skipping.")
    key_message, value_message = _MESSAGES_OF_TYPE[record_type]
    key_json = {
        "type": str(record_type),
        "data": to_json(key_message, _read(key_message, key, "key", offset), record_type),
    }
    if value is None:
        return key_json, DELETE
    version = _version(value, "value", offset)
    found = _read(value_message, value, "value", offset)
    data = to_json(value_message, found, version)
    if value_message is GROUP_METADATA_VALUE:
        _show_members(data, found)
    return key_json, {"version": str(version), "data": data}


def _version(data: bytes, name: str, offset: int) -> int:
    try:
        return payload_version(data)
    except DecodeError:
        raise _NotDecoded(f"Error at offset {offset}, skipping. Could not read version from {name}'s buffer.") from None


def _read(message: Message[Any], data: bytes, name: str, offset: int) -> Any:
    try:
        return decode_versioned(message, data)
    except DecodeError:
        # "null" is Java's message for bytes that end too soon.
        raise _NotDecoded(
            f"Error at offset {offset}, skipping. Could not read record with version {payload_version(data)} "
            f"from {name}'s buffer due to: null."
        ) from None


def _show_members(group: dict[str, Any], found: GroupMetadataValue) -> None:
    """Replace the bytes that a consumer wrote by their content; other bytes stay."""
    if found.protocol_type != _CONSUMER_PROTOCOL:
        return
    for shown, member in zip(group["members"], found.members, strict=True):
        _show(shown, "subscription", CONSUMER_PROTOCOL_SUBSCRIPTION, member.subscription)
        _show(shown, "assignment", CONSUMER_PROTOCOL_ASSIGNMENT, member.assignment)


def _show(shown: dict[str, Any], field: str, message: Message[Any], data: Buffer) -> None:
    try:
        shown[field] = to_json(message, decode_versioned(message, data), payload_version(data))
    except DecodeError:
        return
