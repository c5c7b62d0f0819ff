"""Small value types that all packages share: topic-partitions, Kafka's base64 uuids, wire buffers.

Role        The Python side of Kafka's primitive types that have no ready-made class.
Invariants  A uuid field is a `uuid.UUID`; "no id" is `NULL_UUID`, never None.
Source      Kafka 3.9 TopicPartition, Uuid, BaseRecords.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, Protocol, TypeAlias
from uuid import UUID

NULL_UUID = UUID(int=0)

NO_LEADER: Final = -1
"""Instead of a broker id: the partition has no leader."""

Buffer: TypeAlias = bytes | bytearray | memoryview


class Slice(Protocol):
    """A slice of a file that travels inside a records field without being read into memory."""

    @property
    def size_bytes(self) -> int: ...


Records: TypeAlias = Buffer | Sequence[Slice]


class TopicPartition(NamedTuple):
    """One partition of one topic; prints as `topic-0`, which is also its directory's name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@lru_cache(maxsize=8192)
def uuid_from_bytes(data: bytes) -> UUID:
    """The uuid of 16 bytes. Cached: making a UUID costs ten times a look-up, and topic ids repeat."""
    return UUID(bytes=data)


def uuid_to_base64(value: UUID) -> str:
    """Kafka's 22 characters: URL-safe base64 without padding, as in znodes and partition.metadata."""
    return base64.urlsafe_b64encode(value.bytes)[:22].decode("ascii")


def uuid_from_base64(text: str) -> UUID:
    """Read `uuid_to_base64` back. Raises ValueError when `text` is not 16 bytes in URL-safe base64."""
    if len(text) > 24:
        raise ValueError(f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID")
    if "+" in text or "/" in text:  # the decoder would take both alphabets
        raise ValueError(f"Input string `{text}` is not URL-safe base64")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"Input string `{text}` is not a base64 UUID: {error}") from error
    if len(data) != 16:
        raise ValueError(
            f"Input string `{text}` decoded as {len(data)} bytes, "
            "which is not equal to the expected 16 bytes of a base64-encoded UUID"
        )
    return UUID(bytes=data)
