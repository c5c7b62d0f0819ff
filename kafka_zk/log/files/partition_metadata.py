"""partition.metadata: the topic id that a partition's directory belongs to.

Layout      `version: 0` LF `topic_id: <22 base64url characters>`, without a final LF: 43 bytes.
Source      PartitionMetadataFile.
"""

from __future__ import annotations

import re
from pathlib import Path
from uuid import UUID

from kafka_zk.log.files.disk import DISK, Disk, read_small
from kafka_zk.protocol.types import NULL_UUID, uuid_from_base64, uuid_to_base64

VERSION = 0
_LINE = re.compile(r"(version|topic_id):\s*(\S+)\s*")


class MalformedPartitionMetadata(OSError):
    """A partition.metadata file that cannot be trusted: like a disk that fails, it ends the use of its directory."""


def encode(topic_id: UUID) -> bytes:
    return f"version: {VERSION}\ntopic_id: {uuid_to_base64(topic_id)}".encode()


def decode(content: bytes, path: Path) -> UUID:
    """Raises MalformedPartitionMetadata: wrong lines, no version, the zero id."""
    fields = {}
    for line in content.decode("utf-8", "replace").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise MalformedPartitionMetadata(f"Malformed line in checkpoint file ({path}): {line}")
        fields[match[1]] = match[2]
    # A later version is accepted, too: Kafka keeps it readable for downgrades.
    if not re.fullmatch(r"\+?[0-9]{1,9}", fields.get("version", "")):
        raise MalformedPartitionMetadata(
            f"Unrecognized version of partition metadata file ({path}): {fields.get('version')}"
        )
    try:
        topic_id = uuid_from_base64(fields.get("topic_id", ""))
    except ValueError as error:
        raise MalformedPartitionMetadata(f"Malformed topic id in partition metadata file ({path}): {error}") from error
    if topic_id == NULL_UUID:
        raise MalformedPartitionMetadata(f"Invalid topic ID in partition metadata file ({path})")
    return topic_id


def read(path: Path) -> UUID | None:
    """The topic id; None without a file, or when a power cut left it empty. MalformedPartitionMetadata, OSError."""
    try:
        content = read_small(path)
    except FileNotFoundError:
        return None
    return decode(content, path) if content else None


def write(path: Path, topic_id: UUID, disk: Disk = DISK, *, durable: bool = True) -> None:
    """Replace the file. Raises OSError."""
    disk.replace_file(path, encode(topic_id), durable=durable)
