"""NNN.index: from an offset to a position in the segment's file, for some of the appends.

Layout      8 bytes an entry: int32 offset relative to the base offset, int32 file position. The offset is the last one
            of the append, the position is where that append starts.
Invariants  Offsets strictly increase, so do positions.
Source      OffsetIndex.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.files.index_file import IndexFile
from kafka_zk.log.files.transaction_index import CorruptIndex

ENTRY = struct.Struct(">ii")
ENTRY_SIZE_BYTES = ENTRY.size
_pack = ENTRY.pack
_unpack_from = ENTRY.unpack_from


class OffsetPosition(NamedTuple):
    offset: int
    position: int


class OffsetIndex:
    """Entries of one segment; `last_offset` is the base offset while there are none."""

    __slots__ = ("base_offset", "file", "last_offset")

    def __init__(self, path: Path, base_offset: int, max_size_bytes: int, disk: Disk = DISK) -> None:
        self.file = IndexFile(path, ENTRY_SIZE_BYTES, max_size_bytes, disk)
        self.base_offset = base_offset
        self.last_offset = -1
        """Known after `load` or the first append; -1 before."""

    def load(self) -> None:
        """Learn the last entry. Raises OSError."""
        self.last_offset = self._entry(self.file.entry_count - 1).offset if self.file.entry_count else self.base_offset

    @property
    def is_full(self) -> bool:
        return self.file.entry_count >= self.file.max_entries

    def append(self, offset: int, position: int) -> None:
        """`offset` must be above every one so far, within 2^31 of the base offset. Raises OSError."""
        if self.last_offset < 0:
            self.load()
        assert not self.file.entry_count or offset > self.last_offset, (
            f"{offset} after {self.last_offset} in {self.file.path}"
        )
        self.file.append(_pack(offset - self.base_offset, position))
        self.last_offset = offset

    @property
    def room(self) -> int:
        """How many entries may follow."""
        return self.file.max_entries - self.file.entry_count

    def extend(self, entries: list[OffsetPosition]) -> None:
        """Append several, in one write. Raises OSError."""
        if not entries:
            return
        if self.last_offset < 0:
            self.load()
        assert not self.file.entry_count or entries[0].offset > self.last_offset, (
            f"{entries[0].offset} after {self.last_offset} in {self.file.path}"
        )
        base_offset = self.base_offset
        self.file.append(b"".join([_pack(offset - base_offset, position) for offset, position in entries]))
        self.last_offset = entries[-1].offset

    def lookup(self, offset: int) -> OffsetPosition:
        """The entry with the largest offset <= `offset`; (base offset, 0) when there is none. Raises OSError."""
        if not self.file.entry_count:
            return OffsetPosition(self.base_offset, 0)
        if self.last_offset < 0:
            self.load()
        if offset >= self.last_offset:
            return self._entry(self.file.entry_count - 1)
        slot = self._slot_at_most(offset)
        return self._entry(slot) if slot >= 0 else OffsetPosition(self.base_offset, 0)

    def upper_bound(self, position: int, size_bytes: int) -> OffsetPosition | None:
        """The first entry whose position is >= `position` + `size_bytes`. Source: fetchUpperBoundOffset."""
        if not self.file.entry_count:
            return None
        view, bound = self.file.mapped(), position + size_bytes
        slot = self.file.last_slot_where(lambda slot: bool(_unpack_from(view, slot * ENTRY_SIZE_BYTES)[1] < bound)) + 1
        return self._entry(slot) if slot < self.file.entry_count else None

    def truncate_to(self, offset: int) -> None:
        """Drop the entries with an offset >= `offset`. Raises OSError."""
        if self.file.entry_count:
            self.file.truncate_entries(self._slot_at_most(offset - 1) + 1)
        self.load()

    def reset(self) -> None:
        """Empty the index; the next `trim` drops the file's content."""
        self.file.begin_again()
        self.last_offset = self.base_offset

    def entries(self) -> list[OffsetPosition]:
        return [self._entry(slot) for slot in range(self.file.entry_count)]

    def sanity_check(self) -> None:
        """Raises CorruptIndex."""
        if self.file.entry_count and self._entry(self.file.entry_count - 1).offset < self.base_offset:
            raise CorruptIndex(
                f"Corrupt index found, index file ({self.file.path}) has a last offset below {self.base_offset}"
            )

    def _slot_at_most(self, offset: int) -> int:
        view = self.file.mapped()

        def offset_at(slot: int) -> int:
            relative: int = _unpack_from(view, slot * ENTRY_SIZE_BYTES)[0]
            return relative

        return bisect_right(range(self.file.entry_count), offset - self.base_offset, key=offset_at) - 1

    def _entry(self, slot: int) -> OffsetPosition:
        relative, position = ENTRY.unpack(self.file.read(slot))
        return OffsetPosition(self.base_offset + relative, position)
