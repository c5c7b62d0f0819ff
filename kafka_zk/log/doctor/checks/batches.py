"""Checks that the offsets of a log's batches are continuous and inside their segments.

Gaps are what compaction leaves. Of a log that was never compacted nothing may be missing.
"""

from __future__ import annotations

from kafka_zk.log.doctor.findings import (
    BATCHES_OVERLAP,
    COMPACTED,
    OFFSET_OUT_OF_RANGE,
    RECORDS_MISSING,
    RECORDS_MISSING_ABOVE_CLEANED,
    Notes,
)
from kafka_zk.log.doctor.partition_files import SegmentOnDisk
from kafka_zk.log.segments.roll import MAX_RELATIVE_OFFSET
from kafka_zk.record.batch import BatchHeader


class OffsetOrder:
    """Fed with every batch whose checksum is right, in the order of the files.

    `first_dirty_offset` is the cleaner's checkpoint, None when it does not name the partition.
    """

    def __init__(self, notes: Notes, first_dirty_offset: int | None) -> None:
        self._notes = notes
        self._first_dirty_offset = first_dirty_offset
        self._gaps: list[tuple[str, int, int, int]] = []
        """(file, position, first missing offset, next offset that is there); bounded by MAX_GAPS."""
        self._gap_count = 0
        self.was_compacted = first_dirty_offset is not None
        self.next_offset: int | None = None
        self._file = ""
        self._lowest = self.highest_offset = 0

    def begin(self, segment: SegmentOnDisk) -> None:
        self._file = segment.name()
        self._lowest = segment.base_offset
        self.highest_offset = segment.base_offset + MAX_RELATIVE_OFFSET
        if segment.next_base_offset is not None:
            self.highest_offset = min(self.highest_offset, segment.next_base_offset - 1)

    def skip_damage(self) -> None:
        """After damage: what follows is not a gap."""
        self.next_offset = None

    def meet(self, position: int, header: BatchHeader) -> None:
        first, last = header.base_offset, header.base_offset + header.last_offset_delta
        if first < self._lowest or last > self.highest_offset:
            self._notes.add(
                OFFSET_OUT_OF_RANGE,
                self._file,
                f"the batch at byte {position} has offsets {first} to {last}, "
                f"its segment can hold {self._lowest} to {self.highest_offset}",
            )
        expected = self.next_offset
        if expected is not None and first != expected:
            # Only the last offset of a compressed message set of magic 0 and 1 is in its header.
            if first < expected:
                self._notes.add(
                    BATCHES_OVERLAP,
                    self._file,
                    f"the batch at byte {position} begins at offset {first}, the previous one ends at {expected - 1}",
                )
            elif header.magic >= 2 or not header.is_compressed:
                self._gap(position, expected, first)
        if header.magic >= 2 and (header.record_count <= header.last_offset_delta or header.has_delete_horizon):
            self.was_compacted = True
        self.next_offset = last + 1

    def _gap(self, position: int, expected: int, first: int) -> None:
        dirty = self._first_dirty_offset
        if dirty is not None and first <= dirty:
            self._notes.add(COMPACTED, self._file, f"offsets {expected} to {first - 1} were compacted away")
        elif len(self._gaps) < MAX_GAPS:
            self._gaps.append((self._file, position, expected, first))
        self._gap_count += 1

    def end(self) -> None:
        """Judge the gaps, once all evidence of compaction was seen."""
        if self._first_dirty_offset is not None:
            kind = RECORDS_MISSING_ABOVE_CLEANED
        else:
            kind = COMPACTED if self.was_compacted else RECORDS_MISSING
        for file, position, expected, first in self._gaps:
            self._notes.add(kind, file, f"offsets {expected} to {first - 1} are missing before byte {position}")


MAX_GAPS = 10_000
