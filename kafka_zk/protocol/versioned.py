"""Payloads with an int16 version prefix: coordinator records, consumer subscriptions and assignments.

Source      Kafka 3.9 MessageUtil.toVersionPrefixedBytes, ConsumerProtocol.deserializeVersion.
"""

from __future__ import annotations

from typing import TypeVar

from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.types import Buffer

T = TypeVar("T")


def encode_versioned(message: Message[T], value: T, version: int) -> bytes:
    """The version in two bytes, then the message."""
    return version.to_bytes(2, "big") + message.encode(value, version)


def payload_version(payload: Buffer) -> int:
    """The version in front of a payload. Raises DecodeError when there are not two bytes."""
    if len(payload) < 2:
        raise DecodeError(f"A payload of {len(payload)} bytes has no version")
    return int.from_bytes(payload[:2], "big", signed=True)


def decode_versioned(message: Message[T], payload: Buffer) -> T:
    """Read the version, then the message in that version. Raises DecodeError, also for versions we do not know."""
    version = payload_version(payload)
    if version not in message.versions:
        raise DecodeError(f"Unknown version {version} of {message.name}")
    return message.decode(payload, version, 2)


def decode_versioned_leniently(message: Message[T], payload: Buffer) -> T:
    """Like `decode_versioned`, but newer versions are read as the newest known one: consumers only append fields."""
    version = payload_version(payload)
    if version < message.min_version:
        raise DecodeError(f"Unsupported {message.name} version: {version}")
    return message.decode(payload, min(version, message.max_version), 2)
