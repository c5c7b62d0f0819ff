"""Checkpoint files: small text files with one offset per partition.

Layout      version (0) LF, count LF, then one `topic partition offset` LF an entry, in no particular order. A file of
            length 0 holds nothing (the cleaner's is created so).
Invariants  Replaced as a whole through a temporary file. A wrong version, count or entry is an error, never a guess.
Source      CheckpointFile, OffsetCheckpointFile.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kafka_zk.log.files.disk import SMALL_BYTES, read_small
from kafka_zk.protocol.types import TopicPartition

VERSION = 0
MAX_DIGITS = 19
INT_BITS, LONG_BITS = 32, 64
MAX_SIZE_BYTES = 64 * 1024 * 1024
"""Some hundred thousand partitions with the longest names."""


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
    wanted = number(count.strip(), path, count, bits=INT_BITS)
    lines = body.split("\n")
    # Anything after the last line end is torn: even digits that look like a whole number.
    torn = lines.pop()
    if torn:
        raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): {torn}")
    if len(lines) != wanted:
        raise MalformedCheckpoint(f"Expected {wanted} entries in checkpoint file ({path}), but found only {len(lines)}")
    return lines


def read_lines(path: Path) -> list[str]:
    """The entries of the file. Raises MalformedCheckpoint, OSError.

    A file is read whole only if its head is right and its size is not beyond every estate's.
    """
    head = read_small(path)
    if len(head) == SMALL_BYTES:
        version, count, _ = head.split(b"\n", 2) if head.count(b"\n") > 1 else (head[:80], b"", b"")
        if version.strip() != str(VERSION).encode() or not count.strip().isdigit():
            raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): {version[:80]!r}")
        size = path.stat().st_size
        if size > MAX_SIZE_BYTES:
            raise MalformedCheckpoint(f"Checkpoint file ({path}) has {size} bytes, more than {MAX_SIZE_BYTES}")
        head = path.read_bytes()
    return decode_lines(head, path)


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    """The offsets in the file; nothing when there is none. Raises MalformedCheckpoint, OSError."""
    try:
        return dict(_parse_offset(line, path) for line in read_lines(path))
    except FileNotFoundError:
        return {}


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The content of the file."""
    return encode_lines([f"{each.topic} {each.partition} {offset}" for each, offset in offsets.items()])


def _parse_offset(line: str, path: Path) -> tuple[TopicPartition, int]:
    parts = line.split()
    if len(parts) != 3:
        raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): {line}")
    topic, partition, offset = parts
    return (
        TopicPartition(topic, number(partition, path, line, bits=INT_BITS)),
        number(offset, path, line, bits=LONG_BITS),
    )


def number(text: str, path: Path, line: str, *, bits: int) -> int:
    """Raises MalformedCheckpoint for what Java would not take for an int or a long."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS:
        found = int(text)
        if -1 << (bits - 1) <= found < 1 << (bits - 1):
            return found
    raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): {line}")


def _text(content: bytes, path: Path) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): not UTF-8") from None
