"""NNN.txnindex: the aborted transactions whose marker is in this segment.

Layout      34 bytes an entry: int16 version (0), int64 producer id, int64 first offset, int64 last offset (the marker),
            int64 last stable offset at that time.
Invariants  The file exists only once it has an entry. Last offsets increase. Small, so it is read whole when asked for
            the first time and kept.
Source      TransactionIndex, AbortedTxn.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.files.disk import DISK, Disk

VERSION = 0
ENTRY = struct.Struct(">hqqqq")
ENTRY_SIZE_BYTES = ENTRY.size


class CorruptIndex(Exception):
    """An index file that contradicts itself; it can be rebuilt from its segment."""


class AbortedTransaction(NamedTuple):
    """`last_offset` is the offset of the abort marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """Appends are written to the file at once; reads come from memory."""

    def __init__(self, path: Path, base_offset: int, disk: Disk = DISK) -> None:
        self.path = path
        self.base_offset = base_offset
        self._disk = disk
        self._entries: list[AbortedTransaction] | None = None

    def entries(self) -> list[AbortedTransaction]:
        """Every entry, oldest first. Raises CorruptIndex, OSError."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def append(self, entry: AbortedTransaction) -> None:
        """Raises OSError."""
        entries = self.entries()
        if entries and entries[-1].last_offset >= entry.last_offset:
            raise ValueError(
                f"The last offset of appended transactions must increase sequentially, but {entry.last_offset} is not "
                f"greater than current last offset {entries[-1].last_offset} of index {self.path}"
            )
        descriptor = self._disk.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._disk.write_whole(descriptor, ENTRY.pack(VERSION, *entry), len(entries) * ENTRY_SIZE_BYTES)
        finally:
            self._disk.close(descriptor)
        entries.append(entry)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries whose marker is at `offset` or behind. Raises OSError."""
        entries = self.entries()
        kept = [entry for entry in entries if entry.last_offset < offset]
        if len(kept) < len(entries):
            self._disk.truncate(self.path, len(kept) * ENTRY_SIZE_BYTES)
            self._entries = kept

    def reset(self) -> None:
        """Empty the index. Raises OSError."""
        if self.path.exists():
            self._disk.truncate(self.path, 0)
        self._entries = []

    def sanity_check(self) -> None:
        """Raises CorruptIndex when an entry cannot belong here."""
        for entry in self._read():
            if entry.last_offset < self.base_offset:
                raise CorruptIndex(
                    f"Last offset of aborted transaction {entry} in index {self.path} is below {self.base_offset}"
                )

    def flush(self) -> None:
        """fsync the file if there is one. Raises OSError."""
        if self._entries or (self._entries is not None and self.path.exists()):
            self._disk.sync_path(self.path)  # An emptied one, too: its entries must not come back.

    def _read(self) -> list[AbortedTransaction]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        if len(content) % ENTRY_SIZE_BYTES:
            raise CorruptIndex(f"{self.path} has {len(content)} bytes, not a multiple of {ENTRY_SIZE_BYTES}")
        entries = []
        for version, *values in ENTRY.iter_unpack(content):
            if version != VERSION:
                raise CorruptIndex(f"Unexpected aborted transaction version {version} in transaction index {self.path}")
            entries.append(AbortedTransaction(*values))
        return entries
