"""Checks that NNN.index points to the right batches.

An entry (offset, position) promises: a batch begins at that position, every batch before it ends below the offset, and
the offset is the last one of an append that began there.
"""

from __future__ import annotations

import struct

from kafka_zk.log.doctor.findings import INDEX_CORRUPT, INDEX_MISMATCH, INDEX_MISSING, INDEX_UNTRIMMED, Notes
from kafka_zk.log.doctor.partition_files import PartitionFiles, SegmentOnDisk, read_sparse
from kafka_zk.log.files import names
from kafka_zk.log.files.offset_index import ENTRY_SIZE_BYTES
from kafka_zk.record.batch import BatchHeader

_ENTRY = struct.Struct(">ii")
NOWHERE = 1 << 63


class OffsetIndexCheck:
    """`next_position`: the position in the segment from which `meet` needs batches."""

    def __init__(self, notes: Notes, files: PartitionFiles, segment: SegmentOnDisk, *, crashed: bool) -> None:
        """`crashed`: a start rebuilds this segment's indexes. Raises OSError."""
        self._notes = notes
        self._base_offset = segment.base_offset
        self.file = segment.name(names.OFFSET_INDEX)
        self._content, self._slot, self._count = b"", 0, 0
        self._promised = -1
        """The offset of the entry before: a batch that begins behind it must be where the next entry points."""
        self.next_position = NOWHERE
        if not files.has(segment.base_offset, names.OFFSET_INDEX):
            notes.add(INDEX_MISSING, self.file, "the offset index does not exist")
            return
        content, size = read_sparse(files.path(segment.base_offset, names.OFFSET_INDEX))
        self._count = -(-len(content) // ENTRY_SIZE_BYTES)
        self._content = content.ljust(self._count * ENTRY_SIZE_BYTES, b"\0")
        if size % ENTRY_SIZE_BYTES:
            notes.add(INDEX_CORRUPT, self.file, f"{size} bytes are not a multiple of {ENTRY_SIZE_BYTES}")
        elif size > len(self._content):
            kind = INDEX_UNTRIMMED if crashed else INDEX_CORRUPT
            notes.add(kind, self.file, f"{self._count} entries followed by zeros, {size} bytes in all")
        self._check_order()
        self._load()

    def meet(self, position: int, header: BatchHeader) -> None:
        """A batch at or behind `next_position`."""
        while self._slot < self._count:
            offset, wanted = self._entry(self._slot)
            if position < wanted:
                break
            if position > wanted:
                self._mismatch(f"points to byte {wanted}, where no batch begins")
            elif offset < header.last_offset:
                self._mismatch(f"has offset {offset} for the batch with offset {header.last_offset} at byte {wanted}")
            elif header.base_offset <= self._promised:
                self._mismatch(f"comes after one for offset {self._promised}, but its batch begins before that")
            self._promised = offset
            self._slot += 1
        self._load()

    def end(self, next_offset: int) -> None:
        """The segment ends; `next_offset` follows its last batch."""
        if self._slot < self._count:
            self._mismatch(f"points to byte {self._entry(self._slot)[1]}, beyond the last batch")
        elif self._count and self._promised >= next_offset:
            self._slot -= 1
            self._mismatch(f"names offset {self._promised}, but the last offset is {next_offset - 1}")

    def _check_order(self) -> None:
        before = (-1, -1)
        for entry in _ENTRY.iter_unpack(self._content):
            if entry[0] <= before[0] or entry[1] <= before[1]:
                self._notes.add(
                    INDEX_CORRUPT,
                    self.file,
                    f"entry (+{entry[0]}, byte {entry[1]}) follows (+{before[0]}, {before[1]})",
                )
                self._count = 0
                return
            before = entry

    def _load(self) -> None:
        self.next_position = self._entry(self._slot)[1] if self._slot < self._count else NOWHERE

    def _entry(self, slot: int) -> tuple[int, int]:
        relative, position = _ENTRY.unpack_from(self._content, slot * ENTRY_SIZE_BYTES)
        return self._base_offset + relative, position

    def _mismatch(self, what: str) -> None:
        self._notes.add(INDEX_MISMATCH, self.file, f"entry {self._slot} {what}")
