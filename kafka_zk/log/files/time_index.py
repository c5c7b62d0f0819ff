"""NNN.timeindex: the maximum timestamp up to an offset of the segment.

Layout      12 bytes an entry: int64 timestamp, int32 offset relative to the base offset: the last offset of the batch
            that has this timestamp.
Invariants  Timestamps strictly increase, offsets never decrease. One slot is kept for the entry that a roll or a close
            adds, so the index counts as full one entry early.
Source      TimeIndex.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.files.index_file import IndexFile
from kafka_zk.log.files.transaction_index import CorruptIndex

ENTRY = struct.Struct(">qi")
ENTRY_SIZE_BYTES = ENTRY.size
_unpack_from = ENTRY.unpack_from
NO_TIMESTAMP = -1


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int


class TimeIndex:
    """Entries of one segment; `last` is (-1, base offset) while there are none."""

    __slots__ = ("_last", "base_offset", "file")

    def __init__(self, path: Path, base_offset: int, max_size_bytes: int, disk: Disk = DISK) -> None:
        self.file = IndexFile(path, ENTRY_SIZE_BYTES, max_size_bytes, disk)
        self.base_offset = base_offset
        self._last: TimestampOffset | None = None

    @property
    def last(self) -> TimestampOffset:
        """The last entry. Raises OSError (read on first use)."""
        if self._last is None:
            count = self.file.entry_count
            self._last = self._entry(count - 1) if count else TimestampOffset(NO_TIMESTAMP, self.base_offset)
        return self._last

    @property
    def is_full(self) -> bool:
        return self.file.entry_count >= self.file.max_entries - 1

    def maybe_append(self, timestamp: int, offset: int, *, skip_full_check: bool = False) -> bool:
        """Add an entry if its timestamp is above the last one's; whether it was added. Raises OSError."""
        last = self.last
        if timestamp <= last.timestamp:
            return False
        assert skip_full_check or not self.is_full, f"time index {self.file.path} is full"
        assert offset >= last.offset, f"offset {offset} after {last.offset} in {self.file.path}"
        self.file.append(ENTRY.pack(timestamp, offset - self.base_offset))
        self._last = TimestampOffset(timestamp, offset)
        return True

    @property
    def room(self) -> int:
        """How many entries may follow before the index is full."""
        return self.file.max_entries - 1 - self.file.entry_count

    def extend(self, entries: list[TimestampOffset]) -> None:
        """Add several, each with a timestamp above the one before, in one write. Raises OSError."""
        if not entries:
            return
        last = self.last
        assert entries[0].timestamp > last.timestamp and entries[0].offset >= last.offset, (
            f"{entries[0]} after {last} in {self.file.path}"
        )
        base_offset = self.base_offset
        self.file.append(b"".join([ENTRY.pack(timestamp, offset - base_offset) for timestamp, offset in entries]))
        self._last = entries[-1]

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The entry with the largest timestamp <= `timestamp`; (-1, base offset) when there is none. Raises OSError."""
        if self.file.entry_count and timestamp >= self.last.timestamp:
            return self.last
        slot = self._slot_where(0, timestamp)
        return self._entry(slot) if slot >= 0 else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries with an offset >= `offset`. Raises OSError."""
        self.file.truncate_entries(self._slot_where(1, offset - 1 - self.base_offset) + 1)
        self._last = None

    def reset(self) -> None:
        """Empty the index; the next `trim` drops the file's content."""
        self.file.begin_again()
        self._last = None

    def entries(self) -> list[TimestampOffset]:
        return [self._entry(slot) for slot in range(self.file.entry_count)]

    def sanity_check(self) -> None:
        """Raises CorruptIndex."""
        if not self.file.entry_count:
            return
        first, last = self._entry(0), self._entry(self.file.entry_count - 1)
        if last.timestamp < first.timestamp:
            raise CorruptIndex(
                f"Corrupt time index found, time index file ({self.file.path}) has a last timestamp {last.timestamp} "
                f"below the first one {first.timestamp}"
            )
        if last.offset < self.base_offset:
            raise CorruptIndex(
                f"Corrupt time index found, time index file ({self.file.path}) has a last offset {last.offset} "
                f"below the base offset {self.base_offset}"
            )

    def _slot_where(self, field: int, bound: int) -> int:
        if not self.file.entry_count:
            return -1
        view = self.file.mapped()

        def value_at(slot: int) -> int:
            value: int = _unpack_from(view, slot * ENTRY_SIZE_BYTES)[field]
            return value

        return bisect_right(range(self.file.entry_count), bound, key=value_at) - 1

    def _entry(self, slot: int) -> TimestampOffset:
        timestamp, relative = ENTRY.unpack(self.file.read(slot))
        return TimestampOffset(timestamp, self.base_offset + relative)
