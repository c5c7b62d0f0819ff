"""The file of an offset or time index: fixed-size entries, written with pwrite, read through mmap.

Role        Plain. Knows where entries lie, not what they mean.
Layout      `entry_count` entries from the start; behind them zeros up to the size of the index (a sparse file) while
            the segment is active. Trimmed to the entries at roll and close, so that only a crash leaves zeros.
Invariants  Nothing is ever stored through the map: a store into a sparse map on a full disk is SIGBUS and kills the
            process, a failed pwrite is an error. No view of the map outlives a look-up.
            Opened and mapped on first use; `close` gives both back and they come again when needed.
Source      AbstractIndex.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path

from kafka_zk.log.files.disk import DISK, Disk


class IndexFile:
    """`max_entries` is the capacity; `entry_count` how much of it is used."""

    __slots__ = (
        "_descriptor",
        "_disk",
        "_map",
        "_pwrite",
        "_room_bytes",
        "_sized",
        "entry_count",
        "entry_size",
        "max_entries",
        "path",
    )

    def __init__(self, path: Path, entry_size: int, max_size_bytes: int, disk: Disk = DISK) -> None:
        """Opens nothing yet. An existing file is assumed to be full of entries."""
        self.path = path
        self.entry_size = entry_size
        self._disk = disk
        self._pwrite = disk.pwrite
        self._descriptor = -1
        self._map: mmap.mmap | None = None
        self._room_bytes = max_size_bytes - max_size_bytes % entry_size
        self._sized = False
        self.max_entries = self._room_bytes // entry_size
        self.entry_count = _size_of(path) // entry_size

    def append(self, entries: bytes) -> None:
        """Append one or more entries. Raises OSError."""
        if self._descriptor < 0 or not self._sized:
            self.make_room()
        position = self.entry_count * self.entry_size
        written = self._pwrite(self._descriptor, entries, position)
        if written != len(entries):
            self._disk.write_whole(self._descriptor, entries, position)
        self.entry_count += len(entries) // self.entry_size

    def read(self, slot: int) -> bytes:
        """The bytes of entry `slot`. Raises OSError."""
        position = slot * self.entry_size
        return self.mapped()[position : position + self.entry_size]

    def is_aligned(self) -> bool:
        """Whether the file's length is that of whole entries. Raises OSError."""
        return _size_of(self.path) % self.entry_size == 0

    def is_whole(self) -> bool:
        """Whether the file ends with an entry: no free space behind it, no zeros in its place. Raises OSError."""
        return _size_of(self.path) == self.entry_count * self.entry_size and self._has_last_entry()

    def may_be_right(self) -> bool:
        """Whether it is whole, or has free space behind its entries that we made. Raises OSError."""
        return self._has_last_entry() if self._sized else self.is_whole()

    def _has_last_entry(self) -> bool:
        return not self.entry_count or any(self.read(self.entry_count - 1))

    def mapped(self) -> mmap.mmap:
        """The map to look into, until the next call of any other method. Only for an index with entries."""
        if self._map is None or len(self._map) < self.entry_count * self.entry_size:
            self._unmap()
            self._map = mmap.mmap(self._open(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
        return self._map

    def last_slot_where(self, holds: Callable[[int], bool]) -> int:
        """The last slot for which `holds(slot)`; -1 when there is none. `holds` is true for a first part only."""
        low, high = 0, self.entry_count
        while low < high:
            middle = (low + high) // 2
            if holds(middle):
                low = middle + 1
            else:
                high = middle
        return low - 1

    def truncate_entries(self, entry_count: int) -> None:
        """Forget the entries from `entry_count` on; what they held becomes zeros again. Raises OSError."""
        if entry_count < self.entry_count:
            self.entry_count = entry_count
            self.trim()

    def make_room(self) -> None:
        """Give the file its full length, so that entries can follow. Raises OSError."""
        self._disk.ftruncate(self._open(), max(self._room_bytes, self.entry_count * self.entry_size))
        self._sized = True

    def trim(self) -> None:
        """Truncate the file after its last entry. Raises OSError."""
        # A map beyond the end of its file must not be touched: unmap it before the file shrinks.
        self._unmap()
        descriptor, size_bytes = self._open(), self.entry_count * self.entry_size
        if os.fstat(descriptor).st_size != size_bytes:
            self._disk.ftruncate(descriptor, size_bytes)
        self._sized = False

    def begin_again(self) -> None:
        """Forget every entry, for one that writes them all again and then trims: the file keeps its length."""
        self._unmap()
        self.entry_count = 0
        self._sized = True

    def flush(self) -> None:
        """fsync. Raises OSError."""
        if self._descriptor >= 0:
            self._disk.fsync(self._descriptor)
        elif self.path.exists():
            self._disk.sync_path(self.path)

    def close(self) -> None:
        """Give back the descriptor and the map; the next use opens them again."""
        self._unmap()
        if self._descriptor >= 0:
            self._disk.close(self._descriptor)
            self._descriptor = -1

    @property
    def is_open(self) -> bool:
        return self._descriptor >= 0

    def __del__(self) -> None:
        # A log that could not be loaded, or whose directory failed, is never closed explicitly.
        self.close()

    def _open(self) -> int:
        if self._descriptor < 0:
            self._descriptor = self._disk.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return self._descriptor

    def _unmap(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None


def _size_of(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
