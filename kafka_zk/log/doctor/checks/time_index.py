"""Checks that NNN.timeindex holds the right maximum timestamps."""

from __future__ import annotations

import struct

from kafka_zk.log.doctor.findings import (
    INDEX_CORRUPT,
    INDEX_MISSING,
    INDEX_UNTRIMMED,
    TIME_INDEX_MISMATCH,
    Notes,
)
from kafka_zk.log.doctor.partition_files import PartitionFiles, SegmentOnDisk, read_sparse
from kafka_zk.log.files import names
from kafka_zk.log.files.time_index import ENTRY_SIZE_BYTES

_ENTRY = struct.Struct(">qi")
NEVER = 1 << 63


class TimeIndexCheck:
    """`next_offset`: the offset from which `meet` needs batches."""

    def __init__(self, notes: Notes, files: PartitionFiles, segment: SegmentOnDisk, *, crashed: bool) -> None:
        """`crashed`: a start rebuilds this segment's indexes. Raises OSError."""
        self._notes = notes
        self._base_offset = segment.base_offset
        self.file = segment.name(names.TIME_INDEX)
        self._content, self._slot, self._count = b"", 0, 0
        self.next_offset = NEVER
        self._is_whole = False
        """Whether the last entry must tell the largest timestamp of the segment."""
        if not files.has(segment.base_offset, names.TIME_INDEX):
            notes.add(INDEX_MISSING, self.file, "the time index does not exist")
            return
        content, size = read_sparse(files.path(segment.base_offset, names.TIME_INDEX))
        self._count = -(-len(content) // ENTRY_SIZE_BYTES)
        self._content = content.ljust(self._count * ENTRY_SIZE_BYTES, b"\0")
        self._is_whole = size <= len(self._content)
        if size % ENTRY_SIZE_BYTES:
            notes.add(INDEX_CORRUPT, self.file, f"{size} bytes are not a multiple of {ENTRY_SIZE_BYTES}")
        elif not self._is_whole:
            kind = INDEX_UNTRIMMED if crashed else INDEX_CORRUPT
            notes.add(kind, self.file, f"{self._count} entries followed by zeros, {size} bytes in all")
        self._check_order()
        self._load()

    def meet(self, last_offset: int, max_timestamp_before: int, max_timestamp: int) -> None:
        """A batch that ends at or behind `next_offset`; the largest timestamps before it and with it."""
        while self._slot < self._count:
            timestamp, offset = self._entry(self._slot)
            if last_offset < offset:
                break
            known = max_timestamp if last_offset == offset else max_timestamp_before
            if known > timestamp:
                self._mismatch(f"has {timestamp} up to offset {offset}, but a record there has {known}")
            elif known < timestamp:
                self._mismatch(f"has {timestamp} up to offset {offset}, but no record there is later than {known}")
            self._slot += 1
        self._load()

    def end(self, max_timestamp: int) -> None:
        """The segment ends, and this is its largest timestamp (-1: none)."""
        if self._slot < self._count:
            self._mismatch(f"names offset {self._entry(self._slot)[1]}, beyond the last batch")
            return
        last = self._entry(self._count - 1)[0] if self._count else -1
        if self._is_whole and last < max_timestamp:
            self._notes.add(
                TIME_INDEX_MISMATCH,
                self.file,
                f"ends with timestamp {last}, but a record has {max_timestamp}: time-based retention would delete "
                "the segment for older than it is",
            )

    def _check_order(self) -> None:
        before = (-1, -1)
        for entry in _ENTRY.iter_unpack(self._content):
            if entry[0] <= before[0] or entry[1] < before[1]:
                self._notes.add(INDEX_CORRUPT, self.file, f"entry ({entry[0]}, +{entry[1]}) follows {before}")
                self._count = 0
                self._is_whole = False
                return
            before = entry

    def _load(self) -> None:
        self.next_offset = self._entry(self._slot)[1] if self._slot < self._count else NEVER

    def _entry(self, slot: int) -> tuple[int, int]:
        timestamp, relative = _ENTRY.unpack_from(self._content, slot * ENTRY_SIZE_BYTES)
        return timestamp, self._base_offset + relative

    def _mismatch(self, what: str) -> None:
        self._notes.add(TIME_INDEX_MISMATCH, self.file, f"entry {self._slot} {what}")
