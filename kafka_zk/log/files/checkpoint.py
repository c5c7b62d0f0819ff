"""Checkpoint files: the small text files that hold one offset a partition.

Layout      version (0) LF, count LF, then one `topic partition offset` LF an entry, in no particular order. A file of
            length 0 holds nothing (the cleaner's is created so).
Invariants  Replaced as a whole through a temporary file. A wrong version, count or entry is an error, never a guess.
Source      CheckpointFile, OffsetCheckpointFile.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kafka_zk.protocol.types import TopicPartition

VERSION = 0


class MalformedCheckpoint(ValueError):
    """A checkpoint file whose lines are not what they should be."""


def encode_lines(lines: list[str]) -> bytes:
    return "".join((f"{VERSION}\n{len(lines)}\n", *(f"{line}\n" for line in lines))).encode()


def decode_lines(content: bytes, path: Path) -> list[str]:
    """The entries of a checkpoint file. Raises MalformedCheckpoint with Kafka's text."""
    if not content:
        return []
    version, _, rest = _text(content, path).partition("\n")
    if version.strip() != str(VERSION):
        if version.strip().lstrip("-").isdigit():
            raise MalformedCheckpoint(f"Unrecognized version of the checkpoint file at ({path}): {version}")
        raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): {version}")
    count, _, body = rest.partition("\n")
    if not count.strip().isdigit():
        raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): {count}")
    lines = body.split("\n")
    # Whatever stands behind the last line end was torn off there: even the digits of a number that looks whole.
    torn = lines.pop()
    if torn:
        raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): {torn}")
    if len(lines) != int(count):
        raise MalformedCheckpoint(
            f"Expected {int(count)} entries in checkpoint file ({path}), but found only {len(lines)}"
        )
    return lines


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    """The offsets in the file; nothing when there is none. Raises MalformedCheckpoint, OSError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    return dict(_parse_offset(line, path) for line in decode_lines(content, path))


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The content of the file."""
    return encode_lines([f"{each.topic} {each.partition} {offset}" for each, offset in offsets.items()])


def _parse_offset(line: str, path: Path) -> tuple[TopicPartition, int]:
    parts = line.split()
    try:
        topic, partition, offset = parts
        return TopicPartition(topic, int(partition)), int(offset)
    except ValueError:
        raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): {line}") from None


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): not UTF-8") from None
