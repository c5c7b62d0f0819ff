"""NNN.snapshot: the producer state of a partition at an offset (exclusive).

Layout      int16 version (1), uint32 CRC-32C of all that follows, int32 count, then 46 bytes an entry:
            int64 producer id, int16 epoch, int32 last sequence (-1), int64 last offset (-1), int32 offset delta of the
            last batch, int64 timestamp, int32 coordinator epoch (-1), int64 first offset of the open transaction (-1).
            Empty: 10 bytes.
Invariants  A snapshot with another version, a wrong CRC or length is refused as a whole: the caller deletes it and
            takes an older one.
Source      ProducerStateManager.readSnapshot, writeSnapshot.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.record.crc import crc32c

VERSION = 1
_HEADER = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
ENTRY = struct.Struct(">qhiqiqiq")
EMPTY_SIZE_BYTES = _HEADER.size + _COUNT.size


class CorruptSnapshot(ValueError):
    """A snapshot that must not be used."""


class SnapshotEntry(NamedTuple):
    """One producer. -1 means "none" everywhere."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


Row = tuple[int, int, int, int, int, int, int, int]
"""The values of a SnapshotEntry, which a plain tuple holds, too: there may be a hundred thousand in a snapshot."""


def encode(entries: Iterable[Row]) -> bytes:
    packed = [ENTRY.pack(*entry) for entry in entries]
    body = _COUNT.pack(len(packed)) + b"".join(packed)
    return _HEADER.pack(VERSION, crc32c(body)) + body


def decode(content: bytes) -> list[SnapshotEntry]:
    """Raises CorruptSnapshot."""
    if len(content) < EMPTY_SIZE_BYTES:
        raise CorruptSnapshot(f"Snapshot of {len(content)} bytes is too short")
    version, crc = _HEADER.unpack_from(content)
    if version != VERSION:
        raise CorruptSnapshot(f"Snapshot contained an unknown file version {version}")
    body = memoryview(content)[_HEADER.size :]
    computed = crc32c(body)
    if computed != crc:
        raise CorruptSnapshot(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}"
        )
    (count,) = _COUNT.unpack_from(body)
    if len(body) != _COUNT.size + count * ENTRY.size:
        raise CorruptSnapshot(f"Snapshot of {count} entries has {len(content)} bytes")
    return [SnapshotEntry(*values) for values in ENTRY.iter_unpack(body[_COUNT.size :])]


def read(path: Path) -> list[SnapshotEntry]:
    """Raises CorruptSnapshot, OSError."""
    return decode(path.read_bytes())


def write(path: Path, entries: Iterable[Row], disk: Disk = DISK, *, durable: bool) -> None:
    """Replace the file. Raises OSError. At a roll it is not synced at once but with the segment."""
    disk.replace_file(path, encode(entries), durable=durable)
