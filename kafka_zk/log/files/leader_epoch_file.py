"""leader-epoch-checkpoint: where each leader epoch of a partition began.

Layout      A checkpoint file (see checkpoint.py) of `epoch start-offset` entries, both strictly increasing.
            Created empty (0 bytes) with the partition.
Source      LeaderEpochCheckpointFile.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.files.checkpoint import (
    INT_BITS,
    LONG_BITS,
    MalformedCheckpoint,
    decode_lines,
    encode_lines,
    number,
    read_lines,
)
from kafka_zk.log.files.disk import DISK, Disk


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


def encode_epochs(entries: list[EpochEntry]) -> bytes:
    return encode_lines([f"{entry.epoch} {entry.start_offset}" for entry in entries])


def decode_epochs(content: bytes, path: Path) -> list[EpochEntry]:
    """Raises MalformedCheckpoint."""
    return _entries(decode_lines(content, path), path)


def _entries(lines: list[str], path: Path) -> list[EpochEntry]:
    entries = []
    for line in lines:
        parts = line.split()
        if len(parts) != 2:
            raise MalformedCheckpoint(f"Malformed line in checkpoint file ({path}): {line}")
        epoch, start_offset = parts
        entries.append(
            EpochEntry(number(epoch, path, line, bits=INT_BITS), number(start_offset, path, line, bits=LONG_BITS))
        )
    return entries


def read_epochs(path: Path) -> list[EpochEntry]:
    """The entries; none when there is no file. Raises MalformedCheckpoint, OSError."""
    try:
        return _entries(read_lines(path), path)
    except FileNotFoundError:
        return []


def write_epochs(path: Path, entries: list[EpochEntry], disk: Disk = DISK, *, durable: bool = True) -> None:
    """Replace the file. Raises OSError."""
    disk.replace_file(path, encode_epochs(entries), durable=durable)
